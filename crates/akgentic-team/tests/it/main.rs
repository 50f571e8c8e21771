//! Behaviour of hiring and firing.

#[cfg(test)]
mod team;
#[cfg(test)]
mod world;
