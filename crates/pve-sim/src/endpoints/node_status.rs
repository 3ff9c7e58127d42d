//! `/nodes/{node}/status`: the machine itself.

use crate::{
    answer::Answer,
    endpoints::{Call, Needs, Route, Run},
    figures,
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/status",
    needs: Needs::Privilege("/nodes/{node}", "Sys.Audit"),
    parameters: &[],
    by_daemon: false,
    run: Run::Read(status),
}];

fn status(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    let version = &call.world.cluster.version;
    let figures = figures::of_node(node, call.world.elapsed());
    let kernel_version =
        format!("#1 SMP PREEMPT_DYNAMIC PMX {}", node.kernel.trim_end_matches("-pve"));
    Answer::json(Json::data_object(|data| {
        data.float("cpu", figures.cpu);
        data.number("idle", 0);
        data.float("wait", figures.cpu / 80.0);
        data.list("loadavg", |list| {
            for load in figures.load {
                list.text(&format!("{load:.2}"));
            }
        });
        data.number("uptime", figures.uptime);
        data.object("memory", |memory| {
            let free = node.memory - figures.memory_used;
            memory.number("total", node.memory);
            memory.number("used", figures.memory_used);
            memory.number("free", free / 8 * 7);
            if version.at_least(9, 0) {
                memory.number("available", free);
            }
        });
        data.object("swap", |swap| {
            swap.number("total", node.swap);
            swap.number("used", node.swap_used);
            swap.number("free", node.swap - node.swap_used);
        });
        data.object("rootfs", |root| {
            let free = node.root - node.root_used;
            root.number("total", node.root);
            root.number("used", node.root_used);
            root.number("free", free);
            root.number("avail", free / 20 * 19);
        });
        data.object("ksm", |ksm| ksm.number("shared", 0));
        data.object("cpuinfo", |cpu| {
            let cores = node.cpus.div_ceil(node.sockets.max(1));
            cpu.text("model", &node.cpu_model);
            cpu.number("cpus", node.cpus);
            cpu.number("sockets", node.sockets);
            cpu.number("cores", cores);
            cpu.text("mhz", "2596.148");
            cpu.text("hvm", "");
            cpu.number("user_hz", 100);
            cpu.text(
                "flags",
                "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat sse sse2 lm svm",
            );
            if version.at_least(9, 0) {
                cpu.text("vendor", "AuthenticAMD");
                cpu.text("family", "25");
            }
        });
        data.object("current-kernel", |kernel| {
            kernel.text("sysname", "Linux");
            kernel.text("release", &node.kernel);
            kernel.text("version", &kernel_version);
            kernel.text("machine", "x86_64");
        });
        data.text("kversion", &format!("Linux {} {kernel_version}", node.kernel));
        let own = node.version.as_ref().unwrap_or(version);
        data.text("pveversion", &format!("pve-manager/{}/{}", own.full(), own.repoid));
        data.object("boot-info", |boot| {
            boot.text("mode", &node.boot_mode);
            if node.boot_mode == "efi" {
                boot.number("secureboot", 0);
            }
        });
    }))
}
