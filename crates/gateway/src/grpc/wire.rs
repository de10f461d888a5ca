//! The messages and the service of `groundline/v1/groundline.proto`, generated in parts.

mod calls;
mod checks;
#[cfg(test)]
mod client;
mod server;

pub use calls::*;
pub use checks::*;
#[cfg(test)]
pub use client::groundline_client;
pub use server::groundline_server;
