//! Numbers that nobody expects, in every answer of PVE's under every tool: times before the world and after its end,
//! sizes without bound. No call breaks by them, and none says more than it may.

use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Number, Value};

use crate::{
    faults::{
        TOOLS, gives_nothing_away,
        world::{Servers, call, client_of, still},
    },
    support::{settings, text},
};

/// What numbers break at. The last is none of whole numbers.
fn numbers() -> Vec<Number> {
    let whole = [i64::MIN, i64::MIN + 1, -9_200_000_000_000_000_000, -1, 0, 1, i64::MAX];
    let mut numbers: Vec<Number> = whole.into_iter().map(Number::from).collect();
    numbers.extend([u64::MAX.into(), 253_402_300_800_u64.into()]);
    numbers
        .extend([1e18, 9.1e18, 1e300, -1e300, 0.5].map(|float| Number::from_f64(float).unwrap()));
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_number_in_an_answer_breaks_a_call() {
    let servers = Servers::start();
    let sim = Sim::start(still()).await.unwrap();
    let client = client_of(&servers, settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)).await;
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    let (mut n_answered, mut broken) = (0, Vec::new());
    for (tool, arguments, action) in TOOLS {
        let arguments: Value = serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
        // Those that change something look first; what they find is what counts here.
        if !action.is_empty()
            || ["send_vm_keys", "get_vm_console", "get_vm_screenshot"].contains(tool)
        {
            continue;
        }
        for number in numbers() {
            sim.answer(Rule::everything().numbers(number.clone()));
            let result = call(&client, tool, &arguments).await;
            sim.forget_rules();
            let told = format!(
                "{} {:?}",
                text(&result),
                result.structured_content.map(|it| it.to_string())
            );
            if told.contains("hit a bug") {
                broken.push(format!("{tool} with {number}"));
                continue;
            }
            gives_nothing_away(&told.replace("Some(", ""));
            assert!(
                told.chars().count() < 40_000,
                "{tool} with {number}: {}",
                told.chars().count()
            );
            n_answered += usize::from(result.is_error != Some(true));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(n_answered > 100, "only {n_answered} calls were answered");
}
