//! Every setting, in one table, from which the flags, the help and the messages are made.

/// One setting: an environment variable and, mostly, a flag.
#[derive(Debug)]
pub struct Setting {
    /// The environment variable.
    pub variable: &'static str,
    /// The flag without its dashes. None for the secret: command lines can be seen by every user of a machine.
    pub flag: Option<&'static str>,
    /// What stands for the value in the help.
    pub value: &'static str,
    /// What it means, and its default.
    pub help: &'static str,
}

impl Setting {
    /// Whether it says where PVE is, how it is reached or as whom. The simulated cluster needs none of these.
    pub fn is_of_the_connection(&self) -> bool {
        const OF_THE_CONNECTION: &[Setting] = &[
            HOST,
            PORT,
            TOKEN_ID,
            TOKEN_SECRET,
            TOKEN_SECRET_FILE,
            USERNAME,
            REALM,
            TLS_REJECT_UNAUTHORIZED,
            TLS_CA_FILE,
            TLS_FINGERPRINT,
            TLS_SERVER_NAME,
        ];
        OF_THE_CONNECTION.iter().any(|setting| setting.variable == self.variable)
    }
}

/// The settings of which only one can hold beside this one.
pub fn rivals(setting: &Setting) -> impl Iterator<Item = &'static Setting> {
    const RIVALS: [&[&Setting]; 2] = [
        &[&TOKEN_SECRET, &TOKEN_SECRET_FILE],
        &[&TLS_CA_FILE, &TLS_FINGERPRINT, &TLS_REJECT_UNAUTHORIZED],
    ];
    let variable = setting.variable;
    let group = RIVALS.iter().find(|group| group.iter().any(|one| one.variable == variable));
    let others = group.into_iter().flat_map(|group| group.iter().copied());
    others.filter(move |other| other.variable != variable)
}

macro_rules! settings {
    ($($name:ident = $variable:literal, $flag:expr, $value:literal, $help:literal;)*) => {
        $(#[doc = concat!("`", $variable, "`")] pub const $name: Setting =
            Setting { variable: $variable, flag: $flag, value: $value, help: $help };)*
        /// Every setting, in the order of the help.
        pub const ALL: &[Setting] = &[$($name),*];
    };
}

settings! {
    HOST = "PVE_HOST", Some("host"), "HOST",
        "Name or address of a node; also https://host:port/prefix or IPv6. Of several, separated by commas, the next is asked when one cannot be reached. Required";
    PORT = "PVE_PORT", Some("port"), "PORT", "Port of the API; one that PVE_HOST names wins [default: 8006]";
    TOKEN_ID = "PVE_TOKEN_ID", Some("token-id"), "ID",
        "The API token: its name, or the full user@realm!name, such as mcp@pve!monitor. Required";
    TOKEN_SECRET = "PVE_TOKEN_SECRET", None, "SECRET",
        "The token's secret. Required, here or in the file of PVE_TOKEN_SECRET_FILE. It has no flag: command lines can be seen by others";
    TOKEN_SECRET_FILE = "PVE_TOKEN_SECRET_FILE", Some("token-secret-file"), "FILE", "A file that holds the token's secret";
    USERNAME = "PVE_USERNAME", Some("username"), "USER",
        "The token's user, such as mcp@pve. Required unless PVE_TOKEN_ID names it";
    REALM = "PVE_REALM", Some("realm"), "REALM", "The realm of a user written without one [default: pam]";
    TLS_REJECT_UNAUTHORIZED = "PVE_TLS_REJECT_UNAUTHORIZED", Some("tls-reject-unauthorized"), "BOOL",
        "Whether certificates are verified; false turns verification off [default: true]";
    TLS_CA_FILE = "PVE_TLS_CA_FILE", Some("tls-ca-file"), "FILE",
        "The certificate authority to trust, as PEM: /etc/pve/pve-root-ca.pem of a node";
    TLS_FINGERPRINT = "PVE_TLS_FINGERPRINT", Some("tls-fingerprint"), "SHA256",
        "SHA-256 fingerprints of the certificates to trust, separated by commas; each node has its own. HOST=SHA256 is for that host of PVE_HOST alone";
    TLS_SERVER_NAME = "PVE_TLS_SERVER_NAME", Some("tls-server-name"), "NAME",
        "The name to verify, where the certificate names another than PVE_HOST; one for all hosts, or one for each";
    ACCESS_TIER = "PVE_ACCESS_TIER", Some("access-tier"), "TIER",
        "read: only look; write: also start, stop, reboot, suspend, reset, and type into consoles [default: read]";
    ALLOW_VMS = "PVE_ALLOW_VMS", Some("allow-vms"), "LIST",
        "Where write tools may act: 100-199,205,tag:ai,pool:dev [default: all]";
    PROTECT_VMS = "PVE_PROTECT_VMS", Some("protect-vms"), "LIST",
        "VMs and containers that no write tool may touch; wins over PVE_ALLOW_VMS [default: none]";
    CONFIRM = "PVE_CONFIRM", Some("confirm"), "WHEN",
        "When a person is asked before a write: never, destructive or always [default: destructive]";
    TOOLS = "PVE_TOOLS", Some("tools"), "LIST", "Tools or toolsets to offer [default: all, of the tier]";
    EXCLUDE_TOOLS = "PVE_EXCLUDE_TOOLS", Some("exclude-tools"), "LIST", "Tools or toolsets to leave out [default: none]";
    OUTPUT = "PVE_OUTPUT", Some("output"), "FORM",
        "What answers hold for MCP clients: both, text or structured; fewer tokens where the client is known. `call` prints text, or JSON with --json [default: both]";
    TIMEOUT_SECONDS = "PVE_TIMEOUT_SECONDS", Some("timeout-seconds"), "SECONDS",
        "How long one request to PVE may take, 5 to 300; PVE itself gives up after 30 and then says why [default: 35]";
    TIMEZONE = "PVE_TIMEZONE", Some("timezone"), "ZONE", "How times are shown: an IANA name or local [default: UTC]";
    AUDIT_LOG = "PVE_AUDIT_LOG", Some("audit-log"), "FILE",
        "A file for two JSON lines per write, before and after, and one for a write that is refused; if it cannot be written, nothing is changed [default: not kept]";
    LOG = "PVE_LOG", Some("log"), "FILTER",
        "What is logged to stderr: error, warn, info (each request to PVE), or module=level,… [default: warn]";
}
