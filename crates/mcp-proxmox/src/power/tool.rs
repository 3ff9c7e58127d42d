//! What a tool of this kind has of its own, and the frame that all of them share.
//!
//! A tool says what it is called, what it does to a guest and which arguments only it takes; everything
//! else is here once.

use pve_client::Operator;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Action, Order, Outcome, carry_out};
use crate::{
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    tier::Effect,
};

/// A tool that changes what a guest does.
pub trait PowerTool: 'static {
    /// See [`Tool::NAME`].
    const NAME: &'static str;
    /// See [`Tool::TITLE`].
    const TITLE: &'static str;
    /// See [`Tool::DESCRIPTION`].
    const DESCRIPTION: &'static str;
    /// See [`Tool::IDEMPOTENT`].
    const IDEMPOTENT: bool = true;

    /// How hard it is for the guest.
    type Effect: Effect<Pve = Operator>;
    /// The arguments that it takes beside those of all tools of its kind: [`NoneOfItsOwn`], mostly.
    type Own: Own;

    /// What is done.
    fn action(own: &Self::Own) -> Action;
}

/// Arguments that only some tools take, and what comes of an order that was given with them.
pub trait Own: DeserializeOwned + Serialize + JsonSchema + Send {
    /// What is told in the end.
    type Output: Serialize + JsonSchema + Send;

    /// Does what is ordered.
    fn carry_out(
        self,
        pve: Operator,
        call: &Call,
        order: Order,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// Arguments that say what is done, and change nothing of how it is carried out.
pub trait PlainOwn: DeserializeOwned + Serialize + JsonSchema + Send {}

/// The arguments of a tool of this kind. That it takes no others stands in the schema, which every call is
/// checked against: the deserializer cannot tell, since arguments of two types are one list.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Arguments<Own> {
    /// Vmid or unique name.
    vm: String,
    #[serde(flatten)]
    own: Own,
    /// Wait for its end.
    #[serde(default = "forty")]
    #[schemars(range(max = 45))]
    wait_seconds: u32,
    /// Only check.
    #[serde(default)]
    dry_run: bool,
    /// The user agreed.
    #[serde(default)]
    confirm: bool,
}

/// No arguments beside those of all tools of this kind.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct NoneOfItsOwn {}

/// The argument of a tool that asks the guest, and waits for it.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct Patience {
    /// Seconds the guest gets (60; under HA 180).
    #[schemars(range(min = 1, max = 3600))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
}

impl<T: PowerTool> Tool for T {
    const NAME: &'static str = <T as PowerTool>::NAME;
    const TITLE: &'static str = <T as PowerTool>::TITLE;
    const DESCRIPTION: &'static str = <T as PowerTool>::DESCRIPTION;
    const TOOLSET: Toolset = Toolset::Power;
    const IDEMPOTENT: bool = <T as PowerTool>::IDEMPOTENT;

    type Effect = <T as PowerTool>::Effect;
    type Input = Arguments<T::Own>;
    type Output = <T::Own as Own>::Output;

    async fn run(pve: Operator, call: &Call, input: Self::Input) -> Result<Self::Output, Failure> {
        // As the caller wrote them, for the record.
        let arguments = serde_json::to_value(&input).unwrap_or_default();
        let action = T::action(&input.own);
        let Arguments { vm, own, wait_seconds, dry_run, confirm } = input;
        let order = Order {
            tool: <T as PowerTool>::NAME,
            action,
            vm,
            wait_seconds,
            dry_run,
            confirm,
            arguments,
        };
        own.carry_out(pve, call, order).await
    }
}

impl<T: PlainOwn> Own for T {
    type Output = Outcome;

    async fn carry_out(self, pve: Operator, call: &Call, order: Order) -> Result<Outcome, Failure> {
        carry_out(pve, call, order).await
    }
}

impl PlainOwn for NoneOfItsOwn {}

impl PlainOwn for Patience {}

/// No other argument is taken.
fn closed(schema: &mut Schema) {
    schema.remove("unevaluatedProperties");
    schema.insert("additionalProperties".to_owned(), false.into());
}

fn forty() -> u32 {
    40
}
