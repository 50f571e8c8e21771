//! A photo of 4000 x 3000 pixels, made ready for a model.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::io::Cursor;

use akgentic_workspace::image::{ImageLimits, prepare};
use criterion::{Criterion, criterion_group, criterion_main};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};

/// Colours that run into one another, with some noise, as in a photo.
fn photo() -> DynamicImage {
    let mut state = 1u32;
    let picture = RgbImage::from_fn(4000, 3000, |x, y| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noise = (state >> 28).to_be_bytes()[3];
        let shade = |at: u32| u8::try_from(at * 240 / 4000).unwrap() + noise;
        Rgb([shade(x), shade(y), shade(u32::midpoint(x, y))])
    });
    picture.into()
}

fn views(c: &mut Criterion) {
    for (name, format) in [("JPEG", ImageFormat::Jpeg), ("PNG", ImageFormat::Png)] {
        let mut data = Vec::new();
        photo().write_to(&mut Cursor::new(&mut data), format).unwrap();
        let limits = ImageLimits { bytes: 5_000_000, ..ImageLimits::of_side(1568) };
        c.bench_function(&format!("view 4000x3000 {name} of {} KiB", data.len() / 1024), |b| {
            b.iter(|| prepare(&data, None, limits).unwrap());
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = views
}
criterion_main!(benches);
