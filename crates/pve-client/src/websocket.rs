//! The request that turns a connection into a WebSocket, and whether it was agreed to (RFC 6455).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, HeaderValue,
    header::{
        ACCEPT, CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
        SEC_WEBSOCKET_VERSION, UPGRADE,
    },
};
use ring::{
    digest::{SHA1_FOR_LEGACY_USE_ONLY, digest},
    rand::{SecureRandom as _, SystemRandom},
};

/// What every WebSocket server adds to a key.
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A key for one request. It protects nothing: it only tells an answer from an older one.
pub(crate) fn key() -> String {
    let mut bytes = [0; 16];
    // Without randomness the key is a poor one, and the connection none the worse.
    let _ = SystemRandom::new().fill(&mut bytes);
    STANDARD.encode(bytes)
}

/// Asks for a WebSocket without extensions and with the subprotocol of Proxmox VE.
pub(crate) fn ask(headers: &mut HeaderMap, key: &str) {
    headers.remove(ACCEPT);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("binary"));
    if let Ok(key) = HeaderValue::from_str(key) {
        headers.insert(SEC_WEBSOCKET_KEY, key);
    }
}

/// Whether the answer is one to this key.
pub(crate) fn is_agreed(headers: &HeaderMap, key: &str) -> bool {
    let expected =
        STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{MAGIC}").as_bytes()));
    headers.get(SEC_WEBSOCKET_ACCEPT).is_some_and(|accept| accept.as_bytes() == expected.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_the_rfc_is_agreed_to() {
        let mut headers = HeaderMap::new();
        let accept = HeaderValue::from_static("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        assert!(is_agreed(&headers, "dGhlIHNhbXBsZSBub25jZQ=="));
        assert!(!is_agreed(&headers, &key()));
        assert!(!is_agreed(&HeaderMap::new(), "dGhlIHNhbXBsZSBub25jZQ=="));
    }

    proptest! {
        #[test]
        fn any_answer_is_judged_and_only_the_one_to_this_key_is_agreed_to(
            key in any::<[u8; 16]>(), other in any::<[u8; 16]>(), value in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let (key, other) = (STANDARD.encode(key), STANDARD.encode(other));
            let accept = |key: &str| {
                STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{MAGIC}").as_bytes()))
            };
            let agreed = |value: &[u8]| {
                let value = HeaderValue::from_bytes(value).ok()?;
                Some(is_agreed(&HeaderMap::from_iter([(SEC_WEBSOCKET_ACCEPT, value)]), &key))
            };
            prop_assert_eq!(agreed(accept(&key).as_bytes()), Some(true));
            prop_assert_eq!(agreed(accept(&other).as_bytes()), Some(key == other));
            prop_assert_ne!(agreed(accept(&key).to_lowercase().as_bytes()), Some(true));
            prop_assert_ne!(agreed(&value), Some(true));
        }

        #[test]
        fn whatever_was_among_the_headers_a_websocket_is_asked_for_once(key in "[ -~]{0,40}", before in "[ -~]{0,20}") {
            let mut headers = HeaderMap::new();
            for name in [ACCEPT, CONNECTION, UPGRADE, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION] {
                headers.append(name, HeaderValue::from_str(&before).unwrap());
            }
            ask(&mut headers, &key);
            for (name, value) in [(CONNECTION, "Upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_VERSION, "13"), (SEC_WEBSOCKET_KEY, key.as_str())] {
                let values: Vec<_> = headers.get_all(&name).iter().collect();
                prop_assert_eq!(values, [value], "{}", name);
            }
            prop_assert!(!headers.contains_key(ACCEPT));
        }
    }

    #[test]
    fn no_key_is_like_another() {
        let keys: std::collections::BTreeSet<_> = (0..1000).map(|_| key()).collect();
        assert_eq!(keys.len(), 1000);
        assert!(keys.iter().all(|key| STANDARD.decode(key).unwrap().len() == 16));
    }
}
