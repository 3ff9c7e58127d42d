//! What is logged, to standard error.
//!
//! The protocol library logs whole messages, arguments and all, at the levels that people turn on to
//! debug something else. So it is silent unless the filter names it.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

/// Starts logging what `filter` lets through. The configuration has checked that it can be read.
pub(super) fn start(filter: &str) {
    let Ok(targets) = filter.parse::<Targets>() else { return };
    let targets = if filter.contains("rmcp") {
        targets
    } else {
        targets.with_target("rmcp", LevelFilter::OFF)
    };
    let to_stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // A second start, which only tests make, changes nothing.
    let _ = tracing_subscriber::registry().with(targets).with(to_stderr).try_init();
}
