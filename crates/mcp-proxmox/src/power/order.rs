//! Which guests are started after this one (`startup: order=` in their configurations): they may need it.
//!
//! Only for those who look before they act, and only where this guest has an order itself. **Bounded**: the
//! order stands nowhere but in the configurations, so that few are read, in little time.

use futures_util::{StreamExt as _, stream};
use pve_client::{GuestRef, Reader, guest};

use super::look::Scene;
use crate::{answer::clean::quoted, call::Call, in_order::InOrder as _, lookup::guest::given_name};

/// How many configurations are read.
const READ: usize = 40;
/// How many of them at once.
const AT_ONCE: usize = 3;
/// How many guests are named.
const NAMED: usize = 6;
/// How long it may take, in seconds.
const PART_SECONDS: u64 = 5;

/// What is to be said about the guests that are started after this one and run now.
pub(super) async fn dependants(pve: &Reader, call: &Call, scene: &Scene) -> Option<String> {
    let pve = &pve.until(call.part(PART_SECONDS));
    let this = &scene.found.guest;
    let own = order_of(pve, this).await.ok()??;
    let all = pve.get(guest::list()).await.ok()?;
    let mut running: Vec<(GuestRef, String)> = all
        .into_iter()
        .filter(|listed| listed.status.as_deref() == Some("running"))
        .filter_map(|listed| {
            let guest = GuestRef { node: listed.node?, kind: listed.kind?, vmid: listed.vmid? };
            let name = listed.name.as_deref().and_then(|name| given_name(name, guest.vmid));
            let shown = name.map_or_else(
                || guest.vmid.to_string(),
                |name| format!("{} ({})", quoted(name), guest.vmid),
            );
            (guest.node == this.node && guest.vmid != this.vmid).then_some((guest, shown))
        })
        .collect();
    running.order_by_key(|(guest, _)| guest.vmid);
    let n_unread = running.len().saturating_sub(READ);
    running.truncate(READ);
    let orders = stream::iter(running)
        .map(|(guest, shown)| async move { (order_of(pve, &guest).await, shown) })
        .buffered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    let n_unread = n_unread + orders.iter().filter(|(order, _)| order.is_err()).count();
    let mut later: Vec<(u32, String)> = orders
        .into_iter()
        .filter_map(|(order, shown)| Some((order.ok().flatten()?, shown)))
        .filter(|(order, _)| *order > own)
        .collect();
    later.order_by_key(|(order, _)| *order);
    told(own, &later, n_unread)
}

fn told(own: u32, later: &[(u32, String)], n_unread: usize) -> Option<String> {
    if later.is_empty() && n_unread == 0 {
        return None;
    }
    let named = later.iter().take(NAMED).map(|(_, shown)| shown.as_str());
    let named = named.collect::<Vec<_>>().join(", ");
    let found = match later.len() {
        0 => format!("no guest was found that is started after it (its start order is {own})"),
        n_later => {
            let more = match n_later.saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "these run and are started after it (its start order is {own}), so they may need it: {named}{more}"
            )
        }
    };
    Some(match n_unread {
        0 => found,
        _ => format!("{found}; of {n_unread} more on its node the order was not read"),
    })
}

/// The start order of a guest, where it has one.
async fn order_of(pve: &Reader, guest: &GuestRef) -> Result<Option<u32>, ()> {
    let config = pve.get(guest::config(guest)).await.map_err(|_| ())?;
    if config.is_unreadable("startup") {
        return Err(());
    }
    Ok(config.get("startup").and_then(order))
}

/// The order in `order=2,up=30`, which may also be written as `2,up=30`.
fn order(startup: &str) -> Option<u32> {
    let mut parts = startup.split(',').map(str::trim);
    parts.find_map(|part| part.strip_prefix("order=").unwrap_or(part).parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_read_in_both_spellings() {
        for (startup, expected) in [
            ("order=2", Some(2)),
            ("order=10,up=30,down=60", Some(10)),
            ("up=30,order=3", Some(3)),
            ("5,up=1", Some(5)),
            ("up=30", None),
            ("", None),
        ] {
            assert_eq!(order(startup), expected, "{startup}");
        }
    }

    #[test]
    fn what_is_told_is_bounded_and_says_what_was_not_read() {
        let later: Vec<_> = (0..9).map(|nth| (nth, format!("vm{nth}"))).collect();
        let line = told(1, &later, 3).unwrap();
        assert!(
            line.ends_with("vm5 and 3 more; of 3 more on its node the order was not read"),
            "{line}"
        );
        assert_eq!(told(1, &[], 0), None);
    }
}
