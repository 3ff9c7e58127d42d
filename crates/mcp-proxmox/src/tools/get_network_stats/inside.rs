//! What the guest agent of one VM counts on its interfaces: the only place that knows a guest's errors.

use pve_client::{
    GuestRef, Kind, Reader,
    guest::agent::{self, Interface, Said},
};

use crate::{
    answer::{
        Bytes, Table,
        clean::{label, sentence},
    },
    call::Call,
    failure::Failure,
};

/// How long the agent may take, in seconds. A silent one takes PVE three.
const SECONDS: u64 = 8;
/// How many interfaces are shown.
const SHOWN: usize = 20;

/// The counters from inside, or why there are none. A container has no agent.
pub(super) async fn read(
    pve: &Reader,
    call: &Call,
    guest: &GuestRef,
) -> Option<Result<Table, String>> {
    if guest.kind == Kind::Lxc {
        return None;
    }
    Some(match pve.until(call.part(SECONDS)).get(agent::interfaces(guest)).await {
        Ok(Said::Answer(interfaces)) => Ok(table(&interfaces)),
        Ok(Said::Error(text)) => Err(format!(
            "errors and drops inside the VM: the guest agent said `{}`",
            sentence(&text)
        )),
        Err(error) => {
            let why = Failure::from_pve("read errors and drops inside the VM", &error);
            Err(why.what().to_owned())
        }
    })
}

fn table(interfaces: &[Interface]) -> Table {
    let mut table = Table::new(&[
        "interface",
        "rx",
        "rx_errors",
        "rx_dropped",
        "tx",
        "tx_errors",
        "tx_dropped",
    ]);
    let real = interfaces.iter().filter(|interface| interface.name.as_deref() != Some("lo"));
    for interface in real.take(SHOWN) {
        let counted = interface.statistics.clone().unwrap_or_default();
        table.push([
            interface.name.as_deref().map(label).into(),
            counted.rx_bytes.map(Bytes).into(),
            counted.rx_errs.into(),
            counted.rx_dropped.into(),
            counted.tx_bytes.map(Bytes).into(),
            counted.tx_errs.into(),
            counted.tx_dropped.into(),
        ]);
    }
    table
}
