//! Behaviour of running actors.

#[cfg(test)]
mod addresses;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod log;
#[cfg(test)]
mod mail;
#[cfg(test)]
mod overload;
#[cfg(test)]
mod parts;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod restore_edges;
#[cfg(test)]
mod states;
#[cfg(test)]
mod stop;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod subscribers;
#[cfg(test)]
mod systems;
#[cfg(test)]
mod team;
mod wire;
