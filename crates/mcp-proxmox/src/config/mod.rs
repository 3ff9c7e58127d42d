//! The configuration: read in one place, checked all at once, before anything else happens.
//!
//! **Every mistake is reported in one run**, with the variable, what was read and what is expected.
//! **The secret is never repeated**, not even a part of it, nor is what looks like one. Whether PVE can be reached is not looked at
//! here: clients may start the server only to see what it offers.

mod file;
mod guest_set;
mod host;
mod identity;
mod list;
mod names;
mod pins;
mod placeholder;
mod reading;
mod secret;
pub mod settings;

use std::{borrow::Cow, fmt, path::PathBuf, str::FromStr, time::Duration};

use jiff::tz::TimeZone;
use pve_client::{Host, Settings, Tls, Token};

pub(crate) use self::reading::at_home;
pub use self::{
    guest_set::GuestSet,
    names::{GUARDS, misspelt},
};
use self::{
    reading::{Reading, log_filter},
    settings::Setting,
};
use crate::{
    answer::clean,
    audit::Audit,
    catalog::{ALL, Entry},
    tier::Level,
};

/// What the user decided.
#[derive(Debug)]
pub struct Config {
    /// How PVE is reached, and as whom.
    pub pve: Settings,
    /// How much the tools may do.
    pub tier: Level,
    /// Which tools are offered.
    pub tools: ToolChoice,
    /// Which VMs and containers write tools may touch; `None` for all.
    pub allow: Option<GuestSet>,
    /// Which VMs and containers no write tool may touch.
    pub protect: GuestSet,
    /// When a person is asked before a write.
    pub confirm: Confirm,
    /// What answers hold.
    pub output: Output,
    /// How times are shown.
    pub zone: TimeZone,
    /// Where writes are recorded.
    pub audit_log: Option<PathBuf>,
    /// What is logged.
    pub log: String,
    /// What the user should know, though it is no mistake.
    pub warnings: Vec<String>,
}

/// Which tools are offered, beside what the tier allows.
#[derive(Clone, Debug, Default)]
pub struct ToolChoice {
    only: Vec<String>,
    without: Vec<String>,
}

/// When a person is asked before a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirm {
    /// Never.
    Never,
    /// Before what can lose something that was not saved.
    #[default]
    Destructive,
    /// Before every write.
    Always,
}

/// What answers hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Text and structured content.
    #[default]
    Both,
    /// Text alone, and no output schemas.
    Text,
    /// Structured content, and a line of text.
    Structured,
}

/// Everything that is wrong with a configuration.
#[derive(Debug)]
pub struct Mistakes {
    all: Vec<Mistake>,
    /// The tier, as far as it is known.
    tier: Level,
}

#[derive(Debug)]
struct Mistake {
    variable: Cow<'static, str>,
    wrong: String,
}

impl ToolChoice {
    /// Whether this tool is offered.
    pub fn picks(&self, entry: &Entry) -> bool {
        let named = |names: &[String]| {
            names.iter().any(|name| name == entry.name || name == entry.toolset.name())
        };
        (self.only.is_empty() || named(&self.only)) && !named(&self.without)
    }
}

impl Config {
    /// Reads the configuration. `source` gives what the user wrote for a setting, if anything.
    pub fn read(source: &dyn Fn(&Setting) -> Option<String>) -> Result<Self, Mistakes> {
        let mut read = Reading { source, mistakes: Vec::new(), warnings: Vec::new() };
        read.placeholders();
        let port = read.one(&settings::PORT, host::port).unwrap_or(8006);
        let mut hosts = read.required(&settings::HOST, |text| host::list(text, port));
        if let (Some(_), Some(text)) = (&hosts, read.value(&settings::HOST)) {
            read.warnings.extend(host::cautions(&text));
        }
        read.name_hosts(hosts.as_deref_mut().unwrap_or_default());
        let token = read.token();
        let tls = read.tls(hosts.as_deref_mut().unwrap_or_default());
        let seconds = read.one(&settings::TIMEOUT_SECONDS, |text| {
            let seconds = text.parse().ok().filter(|seconds| (5..=300).contains(seconds));
            seconds.ok_or_else(|| "it must be a whole number of seconds from 5 to 300".to_owned())
        });
        let tier = read.parsed(&settings::ACCESS_TIER).unwrap_or_default();
        let allow = read.parsed(&settings::ALLOW_VMS);
        let protect = read.parsed(&settings::PROTECT_VMS).unwrap_or_default();
        let confirm = read.parsed(&settings::CONFIRM).unwrap_or_default();
        let tools = read.tool_choice();
        if !ALL.iter().any(|entry| entry.level <= tier && tools.picks(entry)) {
            read.wrong(
                &settings::TOOLS,
                "no tool is left to offer: see PVE_EXCLUDE_TOOLS and PVE_ACCESS_TIER".to_owned(),
            );
        }
        let output = read.parsed(&settings::OUTPUT).unwrap_or_default();
        let zone = read.zone();
        let audit_log = read.one(&settings::AUDIT_LOG, |text| {
            let file = at_home(text);
            Audit::check(&file).map(|()| file)
        });
        if tier == Level::Write {
            read.guards();
            read.warnings.extend(audit_log.iter().flat_map(|file| Audit::cautions(file)));
        }
        let log = read.one(&settings::LOG, log_filter).unwrap_or_else(|| "warn".to_owned());
        let Reading { mistakes, warnings, .. } = read;
        let warnings = warnings.iter().map(|warning| secret::hidden(warning)).collect();
        match (hosts, token, tls) {
            (Some(hosts), Some(token), Some(tls)) if mistakes.is_empty() => {
                let pve = pve(hosts, token, tls, seconds);
                Ok(Self {
                    pve,
                    tier,
                    tools,
                    allow,
                    protect,
                    confirm,
                    output,
                    zone,
                    audit_log,
                    log,
                    warnings,
                })
            }
            _ => Err(Mistakes { all: mistakes, tier }),
        }
    }

    /// The same for what needs no access to PVE: what is missing for that is no mistake here, but every
    /// setting that is given is checked. The result reaches nothing.
    pub fn read_without_access(
        source: &dyn Fn(&Setting) -> Option<String>,
    ) -> Result<Self, Mistakes> {
        let is_given =
            |setting: &Setting| source(setting).is_some_and(|text| !text.trim().is_empty());
        let names_user = source(&settings::TOKEN_ID).is_some_and(|id| id.contains('!'));
        let stand_in =
            |setting: &Setting| {
                Some(match setting.variable {
                    name if name == settings::HOST.variable => "pve.lan",
                    name if name == settings::TOKEN_ID.variable => {
                        if is_given(&settings::USERNAME) { "monitor" } else { "mcp@pve!monitor" }
                    }
                    name if name == settings::USERNAME.variable
                        && is_given(&settings::TOKEN_ID)
                        && !names_user =>
                    {
                        "mcp@pve"
                    }
                    name if name == settings::TOKEN_SECRET.variable
                        && !is_given(&settings::TOKEN_SECRET_FILE) =>
                    {
                        "00000000-0000-0000-0000-000000000000"
                    }
                    _ => return None,
                })
            };
        Self::read(&|setting| match source(setting) {
            Some(text) if !text.trim().is_empty() => Some(text),
            // Empty is not the same as left out: see `guards`.
            empty => stand_in(setting).map(str::to_owned).or(empty),
        })
    }

    /// What was read, among variables with these names, which are only asked for where they matter: in the tier `write` one that was meant to guard writes, and is no
    /// setting, is a mistake.
    ///
    /// # Errors
    /// The mistakes, with those of what was read.
    pub fn guarded(
        read: Result<Self, Mistakes>,
        names: impl FnOnce() -> Vec<String>,
    ) -> Result<Self, Mistakes> {
        let tier = read.as_ref().map_or_else(|mistakes| mistakes.tier, |config| config.tier);
        let mistake = |name: &str| {
            let wrong = names::guards_nothing(name)?;
            Some(Mistake { variable: clean::label(name).into(), wrong })
        };
        if tier != Level::Write {
            return read;
        }
        let mut found: Vec<_> = names().iter().filter_map(|name| mistake(name)).collect();
        match read {
            Ok(config) if found.is_empty() => Ok(config),
            Ok(_) => Err(Mistakes { all: found, tier }),
            Err(mut mistakes) => {
                mistakes.all.append(&mut found);
                Err(mistakes)
            }
        }
    }

    /// Makes the file of the audit log, where one is kept and not there yet. Reading the settings only looks whether it
    /// could be made, since most of what reads them records nothing.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn begin_audit_log(&self) -> Result<(), Mistakes> {
        let Some(file) = &self.audit_log else { return Ok(()) };
        Audit::begin(file).map_err(|wrong| {
            let wrong = format!("`{}`: {wrong}", clean::label(&file.to_string_lossy()));
            let all = vec![Mistake { variable: settings::AUDIT_LOG.variable.into(), wrong }];
            Mistakes { all, tier: self.tier }
        })
    }

    /// One line that says what came out: for people, on stderr.
    pub fn summary(&self) -> String {
        let hosts: Vec<_> = self.pve.hosts.iter().map(Host::to_string).collect();
        let (hosts, token) = (hosts.join(", "), self.pve.token.id());
        format!("PVE at {hosts} as {token}, access tier {}{}", self.tier, self.bounds())
    }
}

impl Config {
    /// Where writes may act, where not everywhere.
    fn bounds(&self) -> String {
        if self.tier == Level::Read {
            return String::new();
        }
        let allow = self.allow.as_ref().map(|set| format!(" on {set}"));
        let protect = Some(&self.protect).filter(|set| !set.is_empty());
        let protect = protect.map(|set| format!(" but not on {set}"));
        let bounds = allow.into_iter().chain(protect).collect::<String>();
        // Lists may be long.
        if bounds.is_empty() { bounds } else { format!(" {}", clean::sentence(&bounds)) }
    }
}

fn pve(hosts: Vec<Host>, token: Token, tls: Tls, seconds: Option<u64>) -> Settings {
    Settings {
        hosts,
        token,
        tls,
        request_timeout: Duration::from_secs(seconds.unwrap_or(35)),
        user_agent: concat!("mcp-proxmox/", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

impl FromStr for Confirm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "never" => Ok(Self::Never),
            "destructive" => Ok(Self::Destructive),
            "always" => Ok(Self::Always),
            _ => Err("it must be `never`, `destructive` or `always`".to_owned()),
        }
    }
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "both" => Ok(Self::Both),
            "text" => Ok(Self::Text),
            "structured" => Ok(Self::Structured),
            _ => Err("it must be `both`, `text` or `structured`".to_owned()),
        }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told("mcp-proxmox cannot start with this configuration:"))
    }
}

impl Mistakes {
    /// All of them below this line, and what helps.
    pub fn told(&self, first: &str) -> String {
        let mistake = |Mistake { variable, wrong }: &Mistake| {
            format!("  {variable}: {}\n", secret::hidden(wrong))
        };
        let all: String = self.all.iter().map(mistake).collect();
        format!(
            "{first}\n{all}hint: `mcp-proxmox --help` explains every setting; `mcp-proxmox --demo` runs without any"
        )
    }
}

#[cfg(test)]
mod tests;
