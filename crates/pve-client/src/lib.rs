//! Typed requests for the REST API of Proxmox VE, and the client that sends them.
//!
//! An endpoint is a function that returns a request *value* ([`Get`] or [`Post`]); nothing is sent
//! until the value is given to a [`Reader`] or an [`Operator`]. Start with [`guest`] to see what an
//! endpoint looks like: the types of its answers, the functions that make requests, their tests.
//!
//! ```no_run
//! # async fn example(secret: String) -> Result<(), Box<dyn std::error::Error>> {
//! use pve_client::{Host, Reader, Secret, Settings, Token, guest};
//!
//! let token = Token::new("root@pam", "monitor", Secret::new(secret))?;
//! let reader = Reader::new(Settings::new(Host::new("pve.lan", 8006), token));
//! let guests = reader.get(guest::list()).await?;
//! # let _ = guests;
//! # Ok(())
//! # }
//! ```
//!
//! **Invariant:** this crate knows neither MCP nor environment variables.
//!
//! **Invariant:** text that came from outside reaches a URL only through a checked type of [`ids`]
//! or [`upid`], or percent-encoded as the value of a query or form parameter.
//!
//! **Invariant:** a [`Reader`] has no method that changes anything.
//!
//! **Invariant:** a request that may have taken effect is never sent twice. Only GETs are repeated:
//! once, when their connection died before anything of an answer came, and once more at another host.
//!
//! **Invariant:** the token's secret appears in no `Debug`, no `Display`, no error and no trace.

pub mod access;
pub mod backup;
pub mod ceph;
pub mod cluster;
pub mod cluster_log;
pub mod console;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod guest;
pub mod ids;
pub mod ip_statistics;
pub mod journal;
pub mod lifecycle;
pub mod network;
pub mod node;
pub mod replication;
pub mod rrd;
pub mod storage;
pub mod task;
pub mod task_log;
pub mod upid;
pub mod version;

mod answer;
mod body;
mod certificate;
mod client;
mod connector;
mod date;
mod endpoint;
mod envelope;
mod error;
mod failed_host;
mod form;
mod hosts;
mod left_out;
mod log_text;
mod outgoing;
mod perl;
mod places;
mod recent;
mod refusal;
mod request;
mod settings;
mod tls;
mod tls_problem;
mod token;
mod underway;
mod unsent;
mod verifier;
mod websocket;

pub use certificate::{Fingerprint, InvalidFingerprint};
pub use client::{Observer, Operator, Reader};
pub use envelope::Answer;
pub use error::{Error, LostWhy, UnreadableWhy};
pub use failed_host::{FailedHost, FailedWhy};
pub use guest::{GuestRef, Kind};
pub use ids::{IfaceName, InvalidId, NodeName, StorageId, VmId};
pub use left_out::LeftOut;
pub use log_text::LogText;
pub use recent::Recent;
pub use refusal::{Refusal, RefusalKind};
pub use request::{Get, Method, Post};
pub use settings::{Host, Settings};
/// Text that is mostly short, and takes no memory of its own then: a list of ten thousand guests has fifty thousand.
pub use smol_str::SmolStr as Text;
pub use tls::{CaBundle, InvalidCaBundle, InvalidServerName, ServerName, Tls, Trust};
pub use tls_problem::TlsProblem;
pub use token::{InvalidToken, Secret, Token};
pub use unsent::{Silence, Unsent, UnsentKind};
pub use upid::Upid;
