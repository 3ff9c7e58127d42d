//! Reads bodies: bounded, and decompressed.

use std::io::Read as _;

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};

/// What begins every gzip stream, and no JSON.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a body could not be read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection broke.
    Cut,
    /// It is larger than it may be.
    TooLarge,
    /// Its compression is broken.
    Compression,
}

/// Collects a body of at most so many bytes.
pub(crate) async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, Failure> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(Failure::TooLarge);
    }
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Failure::Cut)?.into_data() else { continue };
        if whole.is_empty() && body.is_end_stream() {
            // The usual small answer comes in one piece, which needs no copy.
            return if data.len() > limit { Err(Failure::TooLarge) } else { Ok(data) };
        }
        if whole.is_empty() {
            whole.reserve_exact(announced);
        }
        if whole.len() + data.len() > limit {
            return Err(Failure::TooLarge);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
}

/// Whether a body is compressed.
pub(crate) fn is_compressed(body: &[u8]) -> bool {
    body.starts_with(&GZIP)
}

/// What is larger is read or decompressed on a thread of its own: meanwhile a small one is answered, and a time that is over
/// is noticed.
const LARGE: usize = 4 << 20;

/// Does what takes as long as a body of so many bytes is large.
pub(crate) async fn apart<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if size <= LARGE {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It is never aborted.
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}

/// Decompresses a body that is compressed, whether its header says so or not.
///
/// The journal of PVE 9.2.11 is always compressed, also for those who did not ask for it.
pub(crate) fn decompress(body: Bytes, limit: usize) -> Result<Bytes, Failure> {
    if !is_compressed(&body) {
        return Ok(body);
    }
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut plain = Vec::new();
    MultiGzDecoder::new(&*body)
        .take(most)
        .read_to_end(&mut plain)
        .map_err(|_| Failure::Compression)?;
    if plain.len() > limit { Err(Failure::TooLarge) } else { Ok(plain.into()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[tokio::test]
    async fn what_is_large_is_read_while_other_things_are_done() {
        let (done, waits) = std::sync::mpsc::channel();
        let large =
            apart(LARGE + 1, move || waits.recv_timeout(std::time::Duration::from_secs(60)));
        // It would wait in vain for this, if it kept the thread.
        let (read, ()) = tokio::join!(large, async { done.send("read").unwrap() });
        assert_eq!(read, Ok("read"));
        let here = std::thread::current().id();
        assert_eq!(apart(LARGE, move || std::thread::current().id()).await, here);
    }

    #[test]
    fn compression_is_seen_by_its_first_bytes() {
        assert_eq!(decompress(gzip(b"{}").into(), 10).unwrap(), "{}");
        assert_eq!(decompress(Bytes::from_static(b"{}"), 10).unwrap(), "{}");
    }

    #[test]
    fn a_stream_of_several_members_is_one_body() {
        let two = [gzip(b"{\"data\":"), gzip(b"[]}")].concat();
        assert_eq!(decompress(two.into(), 100).unwrap(), "{\"data\":[]}");
    }

    #[test]
    fn a_bomb_is_stopped_and_a_torn_stream_is_an_error() {
        let bomb = gzip(&vec![b' '; 1 << 20]);
        assert!(bomb.len() < 8192, "{}", bomb.len());
        assert!(matches!(decompress(bomb.clone().into(), 1000), Err(Failure::TooLarge)));
        let torn = bomb[..bomb.len() / 2].to_vec();
        assert!(matches!(decompress(torn.into(), 2 << 20), Err(Failure::Compression)));
    }
}
