use std::fs;

use resvg::tiny_skia::Pixmap;

use super::*;

fn config() -> ImagesConfig {
    ImagesConfig::default()
}

fn subject(kind: ImageKind, id: Key, name: &str) -> Subject {
    Subject { kind, id, name: Some(name.into()) }
}

const OPTIONS: ImageOptions = ImageOptions { size: 128, format: Format::Png, cut_out: false };

async fn bytes(images: &Images, subject: Subject, options: ImageOptions) -> (String, Bytes) {
    match images.find(subject, options, |_| false).await.unwrap() {
        ImageLookup::Image { tag, bytes: Some(bytes) } => (tag, bytes),
        other => panic!("no image: {other:?}"),
    }
}

#[tokio::test]
async fn images_are_the_same_on_every_hub_and_differ_by_id() {
    let (one, other) = (Images::new(&config()), Images::new(&config()));
    for kind in ImageKind::ALL {
        let (tag, drawn) = bytes(&one, subject(kind, 77, "Alpha City"), OPTIONS).await;
        let again = bytes(&other, subject(kind, 77, "Alpha City"), OPTIONS).await;
        assert_eq!((&tag, &drawn), (&again.0, &again.1), "{kind:?}");
        let pixels = Pixmap::decode_png(&drawn).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (128, 128), "{kind:?}");
        let painted = pixels.pixels().iter().filter(|it| it.alpha() > 0).count();
        assert!(painted > 4000, "{kind:?} is nearly empty: {painted}");
        let different = (1..9).map(|id| subject(kind, id, "Alpha City"));
        let mut seen = vec![drawn];
        for subject in different {
            seen.push(bytes(&one, subject, OPTIONS).await.1);
        }
        seen.sort();
        seen.dedup();
        assert!(seen.len() > 6, "{kind:?}: {} of 9 ids differ", seen.len());
    }
}

#[tokio::test]
async fn image_has_the_requested_size_and_format() {
    let images = Images::new(&config());
    for size in request::SIZES {
        let options = ImageOptions { size, format: Format::Webp, ..OPTIONS };
        let (_, drawn) = bytes(&images, subject(ImageKind::Team, 5, "Beta"), options).await;
        let decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(drawn)).unwrap();
        assert_eq!(decoder.dimensions(), (size, size));
        assert!(decoder.has_alpha());
    }
    let corner = |png: &Bytes| Pixmap::decode_png(png).unwrap().pixel(0, 0).unwrap().alpha();
    let (tag, whole) = bytes(&images, subject(ImageKind::Player, 5, "B. Eta"), OPTIONS).await;
    let cut = ImageOptions { cut_out: true, ..OPTIONS };
    let (cut_tag, cut) = bytes(&images, subject(ImageKind::Player, 5, "B. Eta"), cut).await;
    assert_eq!((corner(&whole), corner(&cut)), (255, 0));
    assert_ne!(tag, cut_tag);
}

#[tokio::test]
async fn image_that_the_client_has_is_not_rendered() {
    let images = Images::new(&config());
    let found = images.find(subject(ImageKind::Team, 5, "Beta"), OPTIONS, |_| true).await.unwrap();
    assert!(matches!(found, ImageLookup::Image { bytes: None, .. }), "{found:?}");
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
    let team = |id| subject(ImageKind::BasketballTeam, id, "Gamma");
    let options = ImageOptions { size: 64, ..OPTIONS };
    let (_, png) = bytes(&images, team(5), options).await;
    let pixels = Pixmap::decode_png(&png).unwrap();
    assert_eq!(pixels.pixel(32, 32).unwrap().red(), 255);
    assert_eq!(pixels.pixel(32, 2).unwrap().alpha(), 0, "it keeps its shape");
    let (_, svg) = bytes(&images, team(6), options).await;
    assert_eq!(Pixmap::decode_png(&svg).unwrap().pixel(9, 9).unwrap().green(), 255);
    for id in [7, 8] {
        let wrong = images.find(team(id), options, |_| false).await;
        assert!(matches!(wrong, Err(ImageError::Failed(_))), "{id}: {wrong:?}");
    }
    // Neither has a file, and drawing is off.
    assert_eq!(images.find(team(9), options, |_| false).await.unwrap(), ImageLookup::Missing);
    let unknown = Subject { name: None, ..team(9) };
    assert_eq!(images.find(unknown, options, |_| false).await.unwrap(), ImageLookup::Unknown);
}
