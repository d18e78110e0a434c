//! The service from outside: the real binary on a socket, once on each engine.

#[cfg(test)]
mod lab;
#[cfg(test)]
mod smoke;
