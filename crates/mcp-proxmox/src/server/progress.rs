//! Progress of a call, as the client gets it.

use std::convert::Infallible;

use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use tokio::{
    sync::mpsc,
    time::{Duration, sleep},
};

use crate::call::Progress;

/// How long it is quiet after something was told. What comes meanwhile is told once, as it is then.
const PAUSE: Duration = Duration::from_millis(250);

/// Progress as the client gets it, and the work of telling it, which has to be polled beside the call.
/// Where the client did not ask for progress, there is nothing to tell.
pub(super) fn of(
    context: &RequestContext<RoleServer>,
) -> (Progress, impl Future<Output = Infallible> + use<>) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let token = context.meta.get_progress_token();
    let progress = match &token {
        None => Progress::default(),
        Some(_) => {
            Progress::new(move |done, total, message| drop(sender.send((done, total, message))))
        }
    };
    let peer = context.peer.clone();
    let telling = async move {
        if let Some(token) = token {
            let mut last = String::new();
            while let Some(mut news) = receiver.recv().await {
                while let Ok(newer) = receiver.try_recv() {
                    news = newer;
                }
                let (done, total, message) = news;
                // Numbers alone are no news.
                if message == last {
                    continue;
                }
                last.clone_from(&message);
                let mut told = ProgressNotificationParam::new(token.clone(), done);
                told.total = total;
                // A client that is gone is noticed elsewhere.
                let _ = peer.notify_progress(told.with_message(message)).await;
                sleep(PAUSE).await;
            }
        }
        std::future::pending().await
    };
    (progress, telling)
}
