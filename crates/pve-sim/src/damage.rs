//! What a rule does to an answer on its way out: cut, spoilt, sent twice, slowly.
//!
//! **Invariant:** the request has taken effect by then; only what the peer hears of it is damaged.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// How often a slow answer goes on.
const BEAT: Duration = Duration::from_millis(50);

/// From how many bytes on a body is sent as it lies in memory.
const LARGE: usize = 1 << 20;

/// What happens to an answer on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The connection ends after so many bytes of the body.
    CutAfter(usize),
    /// The connection ends after so many bytes of the whole answer, its head included.
    CutAt(usize),
    /// One byte of the whole answer is another. Counted round and round.
    Spoilt {
        /// Which one, from 0 on.
        at: usize,
        /// What it becomes.
        byte: u8,
    },
    /// The whole answer comes twice, in one piece: a second one that comes later than the next request cannot
    /// be told from its answer by anybody, since HTTP/1.1 numbers nothing.
    Twice,
    /// So many bytes come in a second.
    Slow(usize),
}

impl Damage {
    /// Whether this answer would have come otherwise without it.
    pub(crate) fn strikes(self, head: &str, body: &Bytes) -> bool {
        let length = head.len() + body.len();
        match self {
            Self::CutAfter(after) => after < body.len(),
            Self::CutAt(at) => at < length,
            Self::Spoilt { at, byte } => {
                let bytes = head.as_bytes().iter().chain(body.iter());
                bytes.copied().nth(at % length.max(1)).is_some_and(|is| is != byte)
            }
            Self::Twice => length > 0,
            Self::Slow(rate) => length > piece(rate),
        }
    }
}

/// How much comes in one beat at so many bytes in a second.
fn piece(rate: usize) -> usize {
    let beats = usize::try_from(1000 / BEAT.as_millis().max(1)).unwrap_or(1);
    (rate / beats).max(1)
}

/// Writes an answer as far as it gets. Says whether the connection goes on.
pub(crate) async fn send<S>(
    stream: &mut S,
    head: &str,
    body: &Bytes,
    damage: Option<Damage>,
) -> bool
where
    S: AsyncWrite + Unpin,
{
    if damage.is_none() && body.len() > LARGE {
        // A gigabyte is not copied to be thrown away when the peer hangs up.
        return write(stream, head.as_bytes()).await && write(stream, body).await;
    }
    let mut bytes = BytesMut::with_capacity(head.len() + body.len());
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(body);
    let mut goes_on = true;
    // Everything at once, unless it is slow.
    let mut most = usize::MAX;
    match damage {
        None => {}
        Some(Damage::CutAfter(length)) => {
            bytes.truncate(head.len().saturating_add(length));
            goes_on = false;
        }
        Some(Damage::CutAt(length)) => {
            bytes.truncate(length);
            goes_on = false;
        }
        Some(Damage::Spoilt { at, byte }) => {
            let at = at % bytes.len().max(1);
            if let Some(spoilt) = bytes.get_mut(at) {
                *spoilt = byte;
            }
        }
        Some(Damage::Twice) => {
            let once = bytes.clone();
            bytes.extend_from_slice(&once);
        }
        Some(Damage::Slow(rate)) => most = piece(rate),
    }
    for (nth, part) in bytes.chunks(most).enumerate() {
        if nth > 0 {
            tokio::time::sleep(BEAT).await;
        }
        if !write(stream, part).await {
            return false;
        }
    }
    goes_on
}

async fn write<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8]) -> bool {
    stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(damage: Option<Damage>) -> (String, bool) {
        let mut out = Vec::new();
        let goes_on = send(&mut out, "head", &Bytes::from_static(b"body"), damage).await;
        (String::from_utf8(out).unwrap(), goes_on)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_damaged_as_asked_and_no_further() {
        for (damage, comes, goes_on) in [
            (None, "headbody", true),
            (Some(Damage::CutAfter(1)), "headb", false),
            (Some(Damage::CutAfter(9)), "headbody", false),
            (Some(Damage::CutAt(0)), "", false),
            (Some(Damage::CutAt(3)), "hea", false),
            (Some(Damage::Spoilt { at: 12, byte: b'#' }), "head#ody", true),
            (Some(Damage::Twice), "headbodyheadbody", true),
            (Some(Damage::Slow(20)), "headbody", true),
        ] {
            assert_eq!(sent(damage).await, (comes.to_owned(), goes_on), "{damage:?}");
            let strikes = damage.is_some_and(|it| it.strikes("head", &Bytes::from_static(b"body")));
            let is_other = comes != "headbody" || matches!(damage, Some(Damage::Slow(_)));
            assert_eq!(strikes, is_other, "{damage:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_takes_its_time() {
        let began = tokio::time::Instant::now();
        sent(Some(Damage::Slow(20))).await;
        assert_eq!(began.elapsed(), BEAT * 7, "a byte every fiftieth of a second");
    }
}
