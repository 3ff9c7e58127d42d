//! The faults that a call can meet: of the server, of what lies between, and that nobody is there.

use std::time::Duration;

use pve_sim::{Damage, Rule, Seen};

use super::way::Bad;
use crate::lifecycle_faults::Chance;

/// Longer than a request may take.
const TOO_LATE: Duration = Duration::from_millis(900);

/// One fault.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Of the server.
    Server(Rule),
    /// Of what lies between.
    Way(Bad),
    /// Nobody listens.
    Nobody,
}

/// Some fault for one of these requests.
pub fn any_fault(chance: &mut Chance, asked: &[Seen]) -> Fault {
    if chance.below(100) == 0 {
        return Fault::Nobody;
    }
    // Near the beginning, where heads and handshakes are, more often than far behind it.
    let most = [40, 400, 4000, 40_000][chance.index(4)];
    let at = chance.index(most);
    if chance.below(3) == 0 {
        return Fault::Way(match chance.below(8) {
            0 => Bad::Resets,
            1 => Bad::Swallows,
            2 => Bad::Cuts(at),
            3 => Bad::CutsRequests(at),
            4 => Bad::Waits([Duration::from_millis(20), TOO_LATE][chance.index(2)]),
            5 => Bad::Spoils(at),
            6 => Bad::Repeats(at),
            _ => Bad::Crawls(1000),
        });
    }
    let seen = &asked[chance.index(asked.len())];
    let rule = Rule::on(&seen.method, &seen.path);
    let page = "<html><body>nothing here</body></html>";
    let rule = match chance.below(18) {
        0 => rule.delay(Duration::from_millis(20)),
        1 => rule.delay(TOO_LATE),
        2 => rule.hang(),
        3 => rule.lost(),
        4..=6 => rule.damaged(Damage::CutAt(at)),
        7..=9 => rule.damaged(Damage::Spoilt { at, byte: [b'#', b'"', 0, 0xFF][chance.index(4)] }),
        10 => rule.damaged(Damage::Twice),
        11 => rule.damaged(Damage::Slow(1000)),
        12 => rule.status(595, "No route to host"),
        13 => rule.status(596, "Connection timed out"),
        14 => rule.status(599, "Too many redirections"),
        15 => rule.status(500, "got no worker upid - start worker failed"),
        16 => rule.status(403, "Permission check failed (/, Sys.Audit)"),
        _ => rule.status(502, "Bad Gateway").header("Content-Type", "text/html").body(page),
    };
    Fault::Server(if chance.below(2) == 0 { rule.times(1) } else { rule })
}

/// What a spoilt letter makes of an answer cannot be told from the truth, unless it is a number.
pub fn may_change_words(fault: &Fault) -> bool {
    matches!(fault, Fault::Server(Rule { damage: Some(Damage::Spoilt { .. }), .. }))
}
