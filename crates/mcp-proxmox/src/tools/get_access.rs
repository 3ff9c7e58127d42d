//! `get_access`: what this server and its token may do, and what they do not see for it.
//!
//! PVE shortens lists silently to what the token may see. This is the place to look at before "there is
//! none" is believed.

use futures_util::join;
use pve_client::{Observer, access, version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{Table, clean::label},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    policy::Policy,
    rights::{
        Rights,
        mending::{Mending, mending},
        view::{self, Seen},
    },
    tier::{Level, Reads},
};

/// How many paths are listed.
const PATHS: usize = 20;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetAccess;

/// Nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

/// What is allowed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    user: String,
    token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pve_version: Option<String>,
    /// `read` or `write`, decided by the user of this server.
    tier: String,
    /// On which guests write tools may act.
    may_change: String,
    /// What there is to see, and how much of it the token sees.
    sees: Table,
    /// The privileges, where they differ from those of the path above.
    privileges: Table,
    /// What its owner can type on a node to let the token see more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    to_mend: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for GetAccess {
    const NAME: &'static str = "get_access";
    const TITLE: &'static str = "Access";
    const DESCRIPTION: &'static str = "What this server's API token may see and do: user, access tier, privileges by path, which tools show less \
        than everything and why, and the commands that mend it. Use it when something seems missing.";
    const TOOLSET: Toolset = Toolset::Health;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, _: Input) -> Result<Output, Failure> {
        // Asked one after the other: a wrong token costs PVE's 3 s only once.
        let permissions = pve
            .get(access::permissions())
            .await
            .map_err(|error| Failure::from_pve("read the token's privileges", &error))?;
        let (version,) = join!(pve.get(version::version()));
        let mut output = Output::of(pve.token_id(), Rights(permissions), call);
        match version {
            Ok(version) => output.pve_version = version.version.as_deref().map(label),
            Err(error) => {
                let failure = Failure::from_pve("ask for the version", &error);
                output.notes.push(failure.what().to_owned());
            }
        }
        Ok(output)
    }
}

impl Output {
    fn of(token: &str, rights: Rights, call: &Call) -> Self {
        let limits = &call.limits;
        let (user, name) = token.split_once('!').unwrap_or((token, ""));
        let seen = view::seen(&rights, limits.tier, &limits.offered);
        let mut sees = Table::new(&["what", "seen", "missing", "tools that show less"]);
        for Seen { need, seen, missing, .. } in &seen {
            let tools = need.tools().filter(|tool| limits.offered.contains(tool));
            let tools = missing.is_some().then(|| tools.collect::<Vec<_>>().join(", "));
            sees.push([
                need.what.into(),
                seen.clone().into(),
                missing.clone().into(),
                tools.into(),
            ]);
        }
        let mut notes = Vec::new();
        if rights.0.is_empty() {
            notes.push("the token has no privilege at all: with privilege separation it needs a role of its own, and its user needs it too".to_owned());
        }
        let by_path = view::by_path(&rights);
        let n_paths = by_path.len();
        let mut privileges = Table::new(&["path", "privileges"]);
        for (path, held) in by_path.into_iter().take(PATHS) {
            privileges.push([path.into(), held.into()]);
        }
        if n_paths > PATHS {
            notes.push(format!("{} more paths have privileges of their own", n_paths - PATHS));
        }
        let Mending { lines: to_mend, cautions } = mending(&rights, &seen, token);
        if !to_mend.is_empty() {
            notes
                .push("only the token's owner can mend it; a change takes some seconds".to_owned());
            notes.extend(cautions);
        }
        Self {
            user: label(user),
            token: label(name),
            pve_version: None,
            tier: limits.tier.to_string(),
            may_change: may_change(limits.tier, &call.policy),
            sees,
            privileges,
            to_mend,
            notes,
        }
    }
}

/// On which guests write tools may act.
fn may_change(tier: Level, policy: &Policy) -> String {
    if tier == Level::Read {
        return "nothing: the access tier is read, and only the server's user can set PVE_ACCESS_TIER=write".to_owned();
    }
    let allowed = match policy.allow() {
        None => "all VMs and containers on which the token has VM.PowerMgmt".to_owned(),
        Some(allow) => format!("only PVE_ALLOW_VMS={allow}"),
    };
    if policy.protect().is_empty() {
        allowed
    } else {
        format!("{allowed}, but never PVE_PROTECT_VMS={}", policy.protect())
    }
}
