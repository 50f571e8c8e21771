//! Behaviour of running actors.

#[cfg(test)]
mod failures;
#[cfg(test)]
mod log;
#[cfg(test)]
mod parts;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod stop;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod team;
mod wire;
