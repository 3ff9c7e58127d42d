//! `/storage` and `/nodes/{node}/storage`: what is configured, how it is on a node, and what is on it.

use crate::{
    answer::Answer,
    cluster::{Node, Storage, Volume},
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind as Is, Parameter},
    },
    json::{Json, Object},
    permission::Rights,
};

/// What shows a storage: either of these privileges.
pub(super) const NEEDS: Needs =
    Needs::AnyOf("/storage/{storage}", &["Datastore.Audit", "Datastore.AllocateSpace"]);

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/storage",
        needs: Needs::Nothing,
        parameters: &[Parameter::new("type", Is::Text)],
        by_daemon: false,
        run: Run::Read(configured),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/storage",
        needs: Needs::Nothing,
        parameters: &[
            Parameter::new("content", Is::Text),
            Parameter::new("enabled", Is::Boolean),
            Parameter::new("format", Is::Boolean),
            Parameter::new("storage", Is::Text),
            Parameter::new("target", Is::Text),
        ],
        by_daemon: true,
        run: Run::Read(on_node),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/storage/{storage}/status",
        needs: NEEDS,
        parameters: &[],
        by_daemon: true,
        run: Run::Read(status),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/storage/{storage}/content",
        needs: NEEDS,
        parameters: &[Parameter::new("content", Is::Text), Parameter::new("vmid", Is::Vmid)],
        by_daemon: true,
        run: Run::Read(content),
    },
];

fn is_seen(rights: &Rights<'_>, name: &str) -> bool {
    let held = rights.on(&format!("/storage/{name}")).privileges;
    held.contains("Datastore.Audit") || held.contains("Datastore.AllocateSpace")
}

/// The storages that the token may see.
fn seen<'a>(call: &Call<'a>) -> impl Iterator<Item = &'a Storage> {
    let rights = call.rights;
    call.world.cluster.storages.iter().filter(move |storage| is_seen(rights, &storage.name))
}

fn find<'a>(call: &Call<'a>) -> Option<&'a Storage> {
    let name = call.value("storage");
    call.world.cluster.storages.iter().find(|storage| storage.name == name)
}

/// The configuration, a file that every node has.
fn configured(call: &Call<'_>) -> Answer {
    let kind = call.value("type");
    Answer::json(Json::data_unordered_list(|list| {
        for storage in seen(call).filter(|storage| kind.is_empty() || storage.plugin == kind) {
            list.object(|row| {
                row.text("storage", &storage.name);
                row.text("type", &storage.plugin);
                row.text("content", &storage.content.join(","));
                row.text("digest", "24e049a51c754a1419388dab37e193ab473409b6");
                if storage.shared {
                    row.number("shared", 1);
                }
                if storage.disabled {
                    row.number("disable", 1);
                }
                if !storage.nodes.is_empty() {
                    row.text("nodes", &storage.nodes.join(","));
                }
                put_source(row, storage);
            });
        }
    }))
}

/// Where its content is: each type says it in its own words.
fn put_source(row: &mut Object<'_>, storage: &Storage) {
    let name = &storage.name;
    match storage.plugin.as_str() {
        "dir" if name == "local" => row.text("path", "/var/lib/vz"),
        "dir" => row.text("path", &format!("/mnt/{name}")),
        "nfs" => {
            row.text("path", &format!("/mnt/pve/{name}"));
            row.text("server", "192.168.77.250");
            row.text("export", "/export/pve");
            row.text("options", "vers=4.2");
        }
        "pbs" => {
            row.text("server", "192.168.10.30");
            row.text("datastore", "main");
            row.text("username", "backup@pbs");
        }
        "zfspool" => row.text("pool", "rpool/data"),
        "lvmthin" => {
            row.text("vgname", "pve");
            row.text("thinpool", "data");
        }
        "rbd" => row.text("pool", name),
        _ => {}
    }
}

fn on_node(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    let (content, name) = (call.value("content"), call.value("storage"));
    let only_enabled = call.wanted.values.is_set("enabled");
    let wanted = |storage: &&Storage| {
        let here = storage.is_on(&node.name);
        // A storage that is not here is left out where content is asked for (recorded).
        let fits = content.is_empty()
            || here && content.split(',').any(|kind| storage.content.iter().any(|it| it == kind));
        fits && (here || !only_enabled) && (name.is_empty() || storage.name == name)
    };
    Answer::json(Json::data_unordered_list(|list| {
        for storage in seen(call).filter(wanted) {
            list.object(|row| {
                row.text("storage", &storage.name);
                if let Some((used, total)) = put_state(row, storage, node) {
                    row.float(
                        "used_fraction",
                        crate::history::precise(used) / crate::history::precise(total.max(1)),
                    );
                }
            });
        }
    }))
}

fn status(call: &Call<'_>) -> Answer {
    let Some(storage) = find(call) else {
        let text = "No such storage.".to_owned();
        return Answer::bad_parameters(&[("storage".to_owned(), text)]);
    };
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    Answer::json(Json::data_object(|data| {
        put_state(data, storage, node);
    }))
}

/// What a node says of a storage. One that is dead, switched off or not here has zeros for figures.
fn put_state(row: &mut Object<'_>, storage: &Storage, node: &Node) -> Option<(u64, u64)> {
    let here = storage.is_on(&node.name);
    let size = storage.size_on(&node.name).filter(|_| here);
    let (used, total) = size.unwrap_or_default();
    row.text("type", &storage.plugin);
    row.text("content", &storage.content.join(","));
    row.flag("shared", storage.shared);
    row.flag("enabled", here);
    row.flag("active", size.is_some());
    row.number("total", total);
    row.number("used", used);
    row.number("avail", total.saturating_sub(used));
    size
}

fn content(call: &Call<'_>) -> Answer {
    let (name, wanted, vmid) = (call.value("storage"), call.value("content"), call.value("vmid"));
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    let refuse = |why: &str| Answer::error(500, &format!("storage '{name}' {why}"));
    let Some(storage) = find(call) else { return refuse("does not exist") };
    if storage.disabled {
        return refuse("is disabled");
    }
    if !storage.is_on(&node.name) {
        return refuse(&format!("is not available on node '{}'", node.name));
    }
    if storage.size_on(&node.name).is_none() {
        return refuse("is not online");
    }
    let volumes = storage.volumes.iter().filter(|volume| {
        volume.node.as_deref().is_none_or(|on| on == node.name)
            && (wanted.is_empty() || volume.content == wanted)
            && (vmid.is_empty() || volume.vmid.is_some_and(|owner| owner.to_string() == vmid))
            && may_see(call, storage, volume)
    });
    Answer::json(Json::data_unordered_list(|list| {
        for volume in volumes {
            list.object(|row| put_volume(row, storage, volume));
        }
    }))
}

/// Each volume is checked on its own, and one that is not for the token is left out (read, and recorded
/// for backups).
fn may_see(call: &Call<'_>, storage: &Storage, volume: &Volume) -> bool {
    let held = call.rights.on(&format!("/storage/{}", storage.name)).privileges;
    if held.contains("Datastore.Allocate") {
        return true;
    }
    let on_guest = |privilege: &str| {
        let pool = volume.vmid.and_then(|vmid| call.world.cluster.guest(vmid));
        let pool = pool.and_then(|guest| guest.pool.as_deref());
        volume.vmid.is_some_and(|vmid| call.rights.has_on_guest(vmid, pool, privilege))
    };
    match volume.content.as_str() {
        "iso" | "vztmpl" | "import" => true,
        "backup" => held.contains("Datastore.AllocateSpace") && on_guest("VM.Backup"),
        "images" | "rootdir" => held.contains("Datastore.Audit") && on_guest("VM.Config.Disk"),
        _ => false,
    }
}

fn put_volume(row: &mut Object<'_>, storage: &Storage, volume: &Volume) {
    row.text("volid", &format!("{}:{}", storage.name, volume.name));
    row.text("content", &volume.content);
    row.text("format", &volume.format);
    row.number("size", volume.size);
    row.number("ctime", volume.created);
    if let Some(vmid) = volume.vmid {
        row.number("vmid", vmid);
    }
    match volume.content.as_str() {
        "images" | "rootdir" => {
            row.number("used", volume.used);
            row.null("parent");
        }
        "backup" => {
            let is_ct = volume.name.contains("lxc") || volume.name.contains("/ct/");
            row.text("subtype", if is_ct { "lxc" } else { "qemu" });
        }
        _ => {}
    }
    row.text_if("notes", volume.notes.as_deref());
    if volume.protected {
        row.number("protected", 1);
    }
    if let Some(state) = &volume.verified {
        row.object("verification", |verification| {
            verification.text("state", state);
            verification
                .text("upid", "UPID:pbs:0000041A:0000A1B2:00000001:6B0D1743:verify:main:root@pam:");
        });
    }
}
