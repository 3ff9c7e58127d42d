//! Tests of `get_metrics`.

use pve_sim::{Rule, Sim, Takes};
use serde_json::{Value, json};

use crate::{
    power,
    support::{answer, call, demo, failure, notes, row, rows, text},
};

const HOUR: &str = "/nodes/pve1/rrddata?timeframe=hour";

async fn with_history(points: Value) -> Sim {
    let sim = demo().await;
    sim.answer(Rule::get(HOUR).data(&points));
    sim
}

#[tokio::test]
async fn the_figures_of_a_known_history_are_known() {
    let points: Vec<Value> = (1..=20_u32)
        .map(|nth| json!({ "time": 1_796_000_000 + nth * 60, "cpu": f64::from(nth) / 100.0, "netin": 0, "memused": 1 << 30, "memtotal": 1_u64 << 32 }))
        .collect();
    let sim = with_history(json!(points)).await;
    let answer = answer(&sim, "get_metrics", json!({ "node": "pve1" })).await;
    assert_eq!(answer["of"], "node pve1, last hour");
    assert_eq!(
        (&answer["from"], &answer["to"]),
        (&json!("2026-11-30T00:54:20+00:00"), &json!("2026-11-30T01:13:20+00:00"))
    );
    assert_eq!((&answer["points"], &answer["resolution"]), (&json!(20), &json!("1m")));
    let cpu = row(&answer["series"], "series", &json!("cpu"));
    assert_eq!(
        cpu,
        json!({ "series": "cpu", "min": "1.0%", "mean": "10.5%", "p95": "19.0%", "max": "20.0%", "last": "20.0%", "of": null, "trend": "rising by 19.0 points" })
    );
    let memory = row(&answer["series"], "series", &json!("memory"));
    assert_eq!(
        (&memory["mean"], &memory["of"], &memory["trend"]),
        (&json!("1.0 GiB"), &json!("4.0 GiB"), &json!("steady"))
    );
    assert_eq!(answer["always_zero"], json!(["net_in"]));
    assert!(answer.get("gaps").is_none());
}

#[tokio::test]
async fn gaps_are_counted_and_never_zero() {
    let at = |nth: i64, cpu: Option<f64>| match cpu {
        Some(cpu) => json!({ "time": 1_796_000_000 + nth * 60, "cpu": cpu }),
        None => json!({ "time": 1_796_000_000 + nth * 60 }),
    };
    let points: Vec<Value> = (0..30)
        .map(|nth| at(nth, ((5..25).contains(&nth) && !(10..15).contains(&nth)).then_some(0.5)))
        .collect();
    let answer =
        answer(&with_history(json!(points)).await, "get_metrics", json!({ "node": "pve1" })).await;
    let gaps = answer["gaps"].as_str().unwrap();
    assert!(gaps.contains("5 points in between are missing, at most 5m at once"), "{gaps}");
    assert!(gaps.contains("nothing before 2026-11-30T00:58:20"), "{gaps}");
    assert!(gaps.contains("nothing after 2026-11-30T01:17:20"), "{gaps}");
    assert_eq!(row(&answer["series"], "series", &json!("cpu"))["min"], "50.0%");
}

#[tokio::test]
async fn every_kind_of_thing_and_every_time_frame_has_a_history() {
    let sim = demo().await;
    for (arguments, title) in [
        (json!({ "vm": "postgres" }), "VM 111 (`postgres`) on pve3"),
        (json!({ "vm": "200" }), "container 200 (`pihole`) on pve1"),
        (json!({ "node": "PVE2" }), "node pve2"),
        (json!({ "storage": "nas" }), "storage nas, as pve1 sees it"),
        (json!({ "storage": "local-zfs", "node": "pve3" }), "storage local-zfs on pve3"),
    ] {
        for (frame, points) in
            [("hour", 60), ("day", 1440), ("week", 336), ("month", 1440), ("year", 1460)]
        {
            let mut arguments = arguments.clone();
            arguments["timeframe"] = json!(frame);
            let answer = answer(&sim, "get_metrics", arguments).await;
            assert_eq!(answer["of"], format!("{title}, last {frame}"));
            assert_eq!(answer["points"], points);
            assert!(!rows(&answer["series"]).is_empty(), "{answer}");
        }
    }
    let vm = answer(&sim, "get_metrics", json!({ "vm": "111", "timeframe": "day" })).await;
    let names: Vec<_> = rows(&vm["series"]).iter().map(|row| row["series"].clone()).collect();
    assert_eq!(
        json!(names),
        json!(["cpu", "memory", "memory_on_host", "net_in", "net_out", "disk_read", "disk_write"])
    );
    let ct = answer(&sim, "get_metrics", json!({ "vm": "200" })).await;
    assert!(row(&ct["series"], "series", &json!("disk"))["of"] == "8.0 GiB", "{ct}");
}

#[tokio::test]
async fn a_day_that_ends_as_it_began_has_no_trend() {
    let sim = demo().await;
    for vm in ["postgres", "webshop", "mail", "pihole", "redis"] {
        let day = answer(&sim, "get_metrics", json!({ "vm": vm, "timeframe": "day" })).await;
        let cpu = row(&day["series"], "series", &json!("cpu"));
        assert_eq!(cpu["trend"], Value::Null, "{vm}: {cpu}");
    }
}

#[tokio::test]
async fn the_past_of_a_guest_stays_when_it_is_stopped_or_starts_again() {
    let sim = demo().await;
    sim.change(|demo| demo.guests.iter_mut().for_each(|guest| guest.takes = Takes::AtOnce));
    for (tool, vm) in [("reboot_vm", "112"), ("stop_vm", "110"), ("stop_vm", "205")] {
        let done = power::answer(&sim, tool, json!({ "vm": vm })).await;
        assert_eq!(done["outcome"], "done", "{done}");
        let hour = answer(&sim, "get_metrics", json!({ "vm": vm })).await;
        let names: Vec<_> = rows(&hour["series"]).iter().map(|row| row["series"].clone()).collect();
        assert!(names.contains(&json!("cpu")) && names.contains(&json!("memory")), "{hour}");
        assert!(hour.get("gaps").is_none(), "{hour}");
        // Nothing is made up of the time before it ran.
        let year = answer(&sim, "get_metrics", json!({ "vm": vm, "timeframe": "year" })).await;
        assert!(year["gaps"].as_str().unwrap().contains("nothing before"), "{year}");
    }
    let chart = call(&sim, "get_metrics_chart", json!({ "vm": "110" })).await;
    assert_ne!(chart.is_error, Some(true), "{}", text(&chart));
    let begun = power::answer(&sim, "start_vm", json!({ "vm": "110" })).await;
    assert_eq!(begun["outcome"], "done", "{begun}");
    // It was off for a while: that, and nothing else, is a gap.
    sim.change(|demo| {
        let mail = demo.guest_mut(110).unwrap();
        let (_, end) = mail.ran.last_mut().unwrap();
        *end -= 1800;
    });
    let hour = answer(&sim, "get_metrics", json!({ "vm": "110" })).await;
    assert!(!rows(&hour["series"]).is_empty(), "{hour}");
    assert!(hour["gaps"].is_string(), "{hour}");
}

#[tokio::test]
async fn the_largest_figure_is_not_that_of_averages() {
    let sim = demo().await;
    let points = |cpu: f64| {
        json!(
            (0..20)
                .map(|nth| json!({ "time": 1_796_000_400 + nth * 1800, "cpu": cpu }))
                .collect::<Vec<_>>()
        )
    };
    sim.answer(Rule::get("/nodes/pve1/rrddata?timeframe=week").data(&points(0.2)));
    sim.answer(Rule::get("/nodes/pve1/rrddata?timeframe=week&cf=MAX").data(&points(0.97)));
    let ask = json!({ "node": "pve1", "timeframe": "week" });
    let found = answer(&sim, "get_metrics", ask.clone()).await;
    let cpu = row(&found["series"], "series", &json!("cpu"));
    assert_eq!((&cpu["mean"], &cpu["max"]), (&json!("20.0%"), &json!("97.0%")));
    sim.answer(
        Rule::get("/nodes/pve1/rrddata?timeframe=week&cf=MAX").status(596, "Connection timed out"),
    );
    let found = answer(&sim, "get_metrics", ask).await;
    assert_eq!(row(&found["series"], "series", &json!("cpu"))["max"], "20.0%");
    assert!(found["notes"].to_string().contains("max is that of averages"), "{found}");
}

#[tokio::test]
async fn a_node_that_is_off_and_a_guest_that_does_not_run_have_a_past_or_none() {
    let sim = demo().await;
    sim.change(|demo| demo.node_mut("pve3").unwrap().online = false);
    let off = answer(&sim, "get_metrics", json!({ "node": "pve3" })).await;
    assert_eq!(off["gaps"], "nothing is known of this time");
    assert!(rows(&off["series"]).is_empty(), "{off}");
    let stopped = answer(&sim, "get_metrics", json!({ "vm": "125" })).await;
    assert!(stopped.get("gaps").is_none(), "{stopped}");
    assert!(notes(&stopped).contains("did not run in this time"), "{stopped}");
    assert!(rows(&stopped["series"]).is_empty(), "{stopped}");
}

#[tokio::test]
async fn what_is_not_one_thing_is_refused_with_what_to_write() {
    let sim = demo().await;
    for (arguments, word) in [
        (json!({}), "give `vm`"),
        (json!({ "vm": "100", "node": "pve1" }), "neither `node` nor `storage`"),
        (json!({ "storage": "local-zfs" }), "name one with `node`: pve1, pve2, pve3"),
        (json!({ "storage": "old-nas" }), "on no node"),
        (json!({ "node": "pve1", "timeframe": "decade" }), "must be one of `hour`"),
    ] {
        let told = failure(&sim, "get_metrics", arguments).await;
        assert!(told.contains(word), "{told}");
    }
}

#[tokio::test]
async fn q151_points_of_two_resolutions_weigh_as_long_as_they_last() {
    let sim = demo().await;
    let points = json!([
        { "time": 1_771_000_000, "cpu": 0.1, "mem": 1000 },
        { "time": 1_771_010_800, "cpu": 0.1, "mem": 1100 },
        { "time": 1_771_012_600, "cpu": 0.8, "mem": 1200, "memhost": 1300 },
    ]);
    sim.answer(Rule::get("/nodes/pve1/qemu/100/rrddata").data(&points));
    let answer = answer(&sim, "get_metrics", json!({ "vm": "100", "timeframe": "week" })).await;
    assert_eq!(answer["resolution"], "3h, then 30m");
    assert_eq!(row(&answer["series"], "series", &json!("cpu"))["mean"], "15.4%");
}

#[tokio::test]
async fn a_guest_that_did_not_run_is_said_not_to_have() {
    let sim = demo().await;
    for vmid in [126, 9000] {
        let answer = answer(&sim, "get_metrics", json!({ "vm": vmid.to_string() })).await;
        assert!(notes(&answer).contains("did not run in this time"), "{vmid}: {answer}");
    }
    let up = answer(&sim, "get_metrics", json!({ "vm": "101" })).await;
    assert!(!notes(&up).contains("did not run in this time"), "{up}");
}
