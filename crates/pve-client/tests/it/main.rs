//! The client against real sockets and real TLS.
//!
//! The server here is written by hand, down to the bytes of its answers, so that it can also do what
//! no proper server does. It knows nothing of the crate that it tests.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails should fail loudly, and so should what helps it"
)]

mod answers;
mod certificates;
mod given_up;
mod hosts;
mod secrecy;
mod sending;
mod server;
mod settings;
mod time;
mod tls;
mod twice;
mod unsent;
