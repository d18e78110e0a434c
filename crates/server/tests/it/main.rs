//! The service from outside: the real binary on a socket, once on each engine.

#[cfg(test)]
mod contract;
#[cfg(test)]
mod contract_table;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod media;
#[cfg(test)]
mod media_read;
#[cfg(test)]
mod media_refused;
#[cfg(test)]
mod media_storage;
#[cfg(test)]
mod media_upload;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod smoke;
#[cfg(test)]
mod steps;
