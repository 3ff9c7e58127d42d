//! Tests that go over the wire: a client that knows nothing of this crate asks a running simulator.

mod client;
mod faults;
mod rights;
mod shapes;
mod wire;
