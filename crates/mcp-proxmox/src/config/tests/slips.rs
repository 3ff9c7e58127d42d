//! What goes wrong between people, their editors and the settings: told so that it can be mended, and nothing of a
//! secret is repeated.

use super::*;

/// What is read of a secret's file with these bytes, and the file's name.
fn from_file(bytes: &[u8], name: &str) -> (Result<Config, Mistakes>, String) {
    let file = std::env::temp_dir().join(format!("mcp-proxmox-{name}-{}", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let path = file.to_str().unwrap();
    let config = with(&[("PVE_TOKEN_SECRET", ""), ("PVE_TOKEN_SECRET_FILE", path)]);
    std::fs::remove_file(&file).unwrap();
    (config, path.to_owned())
}

/// As PowerShell and Notepad write it, in both orders of bytes.
fn utf16(text: &str) -> [Vec<u8>; 2] {
    let units = || ['\u{feff}'].into_iter().chain(text.chars());
    let encoded = units().collect::<String>();
    [
        encoded.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        encoded.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ]
}

#[test]
fn a_secret_file_may_begin_with_a_byte_order_mark_and_one_in_utf16_is_called_that() {
    let marked = format!("\u{feff}{UUID}\r\n");
    assert!(from_file(marked.as_bytes(), "marked").0.is_ok());
    assert!(with(&[("PVE_TOKEN_SECRET", &format!("\u{feff}{UUID}"))]).is_ok());
    let [little, big] = utf16(&format!("{UUID}\r\n"));
    for bytes in [&little, &big, &little[2..].to_vec(), &big[2..].to_vec()] {
        let (read, path) = from_file(bytes, "utf16");
        let told = read.unwrap_err().to_string();
        let expected = format!("PVE_TOKEN_SECRET_FILE: `{path}` is UTF-16");
        assert!(told.contains(&expected) && told.contains("save it as UTF-8"), "{told}");
        assert!(!told.contains(&UUID[..8]), "{told}");
    }
}

#[test]
fn a_secret_file_is_named_where_its_secret_is_wrong_and_may_have_quotes() {
    assert!(from_file(format!("\"{UUID}\"\n").as_bytes(), "quoted").0.is_ok());
    let (read, path) = from_file(b"two words", "words");
    let told = read.unwrap_err().to_string();
    let expected = format!("\n  PVE_TOKEN_SECRET_FILE: `{path}`: it holds blanks");
    assert!(told.contains(&expected), "{told}");
}

#[test]
fn a_file_of_authorities_may_begin_with_a_byte_order_mark_and_one_in_utf16_is_called_that() {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["pve1".to_owned()]).unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    let read = |bytes: &[u8]| {
        let file = std::env::temp_dir().join(format!("mcp-proxmox-ca-{}", std::process::id()));
        std::fs::write(&file, bytes).unwrap();
        let config = with(&[("PVE_TLS_CA_FILE", file.to_str().unwrap())]);
        std::fs::remove_file(&file).unwrap();
        config
    };
    assert!(read(pem.as_bytes()).is_ok());
    assert!(read(format!("\u{feff}{}", pem.replace('\n', "\r\n")).as_bytes()).is_ok());
    for bytes in utf16(&pem) {
        let told = read(&bytes).unwrap_err().to_string();
        assert!(told.contains("it is UTF-16") && told.contains("save it as UTF-8"), "{told}");
        assert!(!told.contains("BEGIN CERTIFICATE"), "{told}");
    }
}
