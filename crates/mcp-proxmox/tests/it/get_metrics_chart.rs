//! Tests of `get_metrics_chart`.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rmcp::model::CallToolResult;
use serde_json::json;

use crate::support::{call, demo, failure, text};

/// The picture of a result.
fn png(result: &CallToolResult) -> Vec<u8> {
    assert_ne!(result.is_error, Some(true), "{}", text(result));
    assert!(result.structured_content.is_none(), "clients that get it drop pictures");
    let images: Vec<_> = result.content.iter().filter_map(|block| block.as_image()).collect();
    assert_eq!((images.len(), images[0].mime_type.as_str()), (1, "image/png"));
    BASE64_STANDARD.decode(&images[0].data).unwrap()
}

/// Width, height and every pixel.
fn pixels(png: &[u8]) -> (u32, u32, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width, info.height, bytes.chunks_exact(3).map(|rgb| [rgb[0], rgb[1], rgb[2]]).collect())
}

#[tokio::test]
async fn a_guest_a_node_and_a_storage_have_a_picture_and_their_figures_in_words() {
    let sim = demo().await;
    for (arguments, words) in [
        (json!({ "vm": "postgres", "timeframe": "day" }), "VM 111 (`postgres`) on pve3, last day"),
        (json!({ "vm": "redis" }), "container 206 (`redis`) on pve3, last hour"),
        (json!({ "node": "pve3", "timeframe": "week" }), "node pve3, last week"),
        (
            json!({ "storage": "nas", "timeframe": "year" }),
            "storage nas, as pve1 sees it, last year",
        ),
    ] {
        let result = call(&sim, "get_metrics_chart", arguments).await;
        let (png, told) = (png(&result), text(&result));
        assert!(told.starts_with(words), "{told}");
        assert!(told.contains("mean") && told.len() < 900, "{told}");
        let (width, height, pixels) = pixels(&png);
        assert_eq!(width, 800);
        assert!((200..900).contains(&height) && png.len() < 150_000, "{height} {}", png.len());
        assert_eq!(
            pixels[width as usize * 3 + 3],
            [255, 255, 255],
            "the ground is opaque and light"
        );
        // Edges are softened, so that few pixels have the line's own colour.
        let is_blue = |pixel: &&[u8; 3]| pixel[2] > pixel[0].saturating_add(90);
        let blue = pixels.iter().filter(is_blue).count();
        assert!(blue > 300, "the first line is seen: {blue}");
    }
}

#[tokio::test]
async fn what_has_no_past_is_told_and_not_drawn() {
    let sim = demo().await;
    let told = failure(&sim, "get_metrics_chart", json!({ "vm": "125" })).await;
    assert!(
        told.contains("nothing is known of VM 125 (`legacy-crm`)") && told.contains("timeframe"),
        "{told}"
    );
    let told = failure(&sim, "get_metrics_chart", json!({})).await;
    assert!(told.contains("give `vm`"), "{told}");
}
