use std::fs;

use resvg::tiny_skia::Pixmap;

use super::*;

fn config() -> ImagesConfig {
    ImagesConfig::default()
}

fn subject(kind: Kind, id: Key, name: &str) -> Subject {
    Subject { kind, id, name: Some(name.into()) }
}

const WANTED: Wanted = Wanted { size: 128, format: Format::Png, cut_out: false };

async fn bytes(images: &Images, subject: Subject, wanted: Wanted) -> (String, Bytes) {
    match images.find(subject, wanted, |_| false).await.unwrap() {
        Found::Image { tag, bytes: Some(bytes) } => (tag, bytes),
        other => panic!("no image: {other:?}"),
    }
}

#[tokio::test]
async fn every_type_is_drawn_alike_by_each_hub_and_unlike_for_each_id() {
    let (one, other) = (Images::new(&config()), Images::new(&config()));
    for kind in Kind::ALL {
        let (tag, drawn) = bytes(&one, subject(kind, 77, "Alpha City"), WANTED).await;
        let again = bytes(&other, subject(kind, 77, "Alpha City"), WANTED).await;
        assert_eq!((&tag, &drawn), (&again.0, &again.1), "{kind:?}");
        let pixels = Pixmap::decode_png(&drawn).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (128, 128), "{kind:?}");
        let painted = pixels.pixels().iter().filter(|it| it.alpha() > 0).count();
        assert!(painted > 4000, "{kind:?} is nearly empty: {painted}");
        let different = (1..9).map(|id| subject(kind, id, "Alpha City"));
        let mut seen = vec![drawn];
        for subject in different {
            seen.push(bytes(&one, subject, WANTED).await.1);
        }
        seen.sort();
        seen.dedup();
        assert!(seen.len() > 6, "{kind:?}: {} of 9 ids differ", seen.len());
    }
}

#[tokio::test]
async fn sizes_and_formats_are_those_that_were_asked_for() {
    let images = Images::new(&config());
    for size in wanted::SIZES {
        let wanted = Wanted { size, format: Format::Webp, ..WANTED };
        let (_, drawn) = bytes(&images, subject(Kind::Team, 5, "Beta"), wanted).await;
        let decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(drawn)).unwrap();
        assert_eq!(decoder.dimensions(), (size, size));
        assert!(decoder.has_alpha());
    }
    let corner = |png: &Bytes| Pixmap::decode_png(png).unwrap().pixel(0, 0).unwrap().alpha();
    let (tag, whole) = bytes(&images, subject(Kind::Player, 5, "B. Eta"), WANTED).await;
    let cut = Wanted { cut_out: true, ..WANTED };
    let (cut_tag, cut) = bytes(&images, subject(Kind::Player, 5, "B. Eta"), cut).await;
    assert_eq!((corner(&whole), corner(&cut)), (255, 0));
    assert_ne!(tag, cut_tag);
}

#[tokio::test]
async fn what_the_caller_has_is_not_rendered() {
    let images = Images::new(&config());
    let found = images.find(subject(Kind::Team, 5, "Beta"), WANTED, |_| true).await.unwrap();
    assert!(matches!(found, Found::Image { bytes: None, .. }), "{found:?}");
    assert_eq!(images.cache(|cache| cache.get("")), None);
}

#[tokio::test]
async fn own_files_come_first_and_are_scaled() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("basketball/team")).unwrap();
    let mut red = Pixmap::new(300, 150).unwrap();
    red.fill(resvg::tiny_skia::Color::from_rgba8(255, 0, 0, 255));
    fs::write(folder.path().join("basketball/team/5.png"), red.encode_png().unwrap()).unwrap();
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path fill="lime" d="M0 0H9V9H0Z"/></svg>"#;
    fs::write(folder.path().join("basketball/team/6.svg"), svg).unwrap();
    fs::write(folder.path().join("basketball/team/7.png"), "no image").unwrap();
    fs::write(folder.path().join("basketball/team/8.svg"), vec![b' '; 2000]).unwrap();
    let config = ImagesConfig {
        folder: folder.path().to_owned(),
        draw: false,
        file_bytes_max: 1999,
        ..config()
    };
    let images = Images::new(&config);
    let of = |id| subject(Kind::BasketballTeam, id, "Gamma");
    let wanted = Wanted { size: 64, ..WANTED };
    let (_, png) = bytes(&images, of(5), wanted).await;
    let pixels = Pixmap::decode_png(&png).unwrap();
    assert_eq!(pixels.pixel(32, 32).unwrap().red(), 255);
    assert_eq!(pixels.pixel(32, 2).unwrap().alpha(), 0, "it keeps its shape");
    let (_, svg) = bytes(&images, of(6), wanted).await;
    assert_eq!(Pixmap::decode_png(&svg).unwrap().pixel(9, 9).unwrap().green(), 255);
    for id in [7, 8] {
        let wrong = images.find(of(id), wanted, |_| false).await;
        assert!(matches!(wrong, Err(ImageError::Failed(_))), "{id}: {wrong:?}");
    }
    // Neither has a file, and drawing is off.
    assert_eq!(images.find(of(9), wanted, |_| false).await.unwrap(), Found::Nothing);
    let unknown = Subject { name: None, ..of(9) };
    assert_eq!(images.find(unknown, wanted, |_| false).await.unwrap(), Found::Unknown);
}
