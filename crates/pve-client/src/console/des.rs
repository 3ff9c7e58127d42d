//! VNC authentication: a challenge that is encrypted with the password.

use des::{
    Des,
    cipher::{Block, BlockCipherEncrypt as _, KeyInit as _},
};

/// What a client answers to a challenge. Only the first eight bytes of a password count, and the
/// bits of each are in reverse order.
pub(super) fn respond(password: &str, challenge: &[u8]) -> Vec<u8> {
    let mut key = [0u8; 8];
    key.iter_mut().zip(password.bytes()).for_each(|(slot, byte)| *slot = byte.reverse_bits());
    let cipher = Des::new(&key.into());
    let mut response = challenge.to_vec();
    for block in response.chunks_exact_mut(8) {
        let mut eight = Block::<Des>::default();
        eight.copy_from_slice(block);
        cipher.encrypt_block(&mut eight);
        block.copy_from_slice(&eight);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_answered_as_every_vnc_server_expects() {
        // Encrypted with `openssl enc -des-ecb -K` of the reversed bits of `password`.
        let challenge: Vec<u8> = (0..16).collect();
        let response = respond("password, of which the rest does not count", &challenge);
        assert_eq!(response[..4], [0xb8, 0x66, 0x92, 0x41]);
        assert_eq!(response[12..], [0x61, 0xc5, 0x38, 0xe2]);
        assert_eq!(response, respond("password", &challenge));
        assert_ne!(response, respond("passwore", &challenge));
        assert_eq!(response.len(), 16);
    }
}
