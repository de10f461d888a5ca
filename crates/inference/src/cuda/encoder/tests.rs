use super::*;
use crate::cuda::runner::tests::{FakeDevice, logits, pair, shape};

fn started(device: FakeDevice) -> Result<Started<FakeDevice>, Problem> {
    Ok(Started { device, shape: shape(), name: "a fake".into(), target: "sm_90a", budget: 1024 })
}

#[test]
fn callers_on_many_threads_get_their_own_answers() {
    let encoder = CudaEncoder::start(|| started(FakeDevice::default())).unwrap();
    assert_eq!((encoder.device(), encoder.batch_tokens()), ("a fake", 1024));
    std::thread::scope(|scope| {
        for id in 0..8 {
            let encoder = &encoder;
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_eq!(
                        encoder.run(&[pair(id, 5), pair(100 + id, 9)]),
                        [logits(id), logits(100 + id)]
                    );
                }
            });
        }
    });
}

#[test]
fn a_device_that_cannot_be_started_says_why() {
    let none = || Err::<Started<FakeDevice>, _>(Problem::new(Code::DEVICE_UNAVAILABLE, "no driver"));
    assert_eq!(CudaEncoder::start(none).unwrap_err().message, "no driver");
    let broken = FakeDevice { lost_at: Some(0), ..FakeDevice::default() };
    let problem = CudaEncoder::start(|| started(broken)).unwrap_err();
    assert_eq!(problem.message, "a fake cannot be used: illegal address");
    let refuses = FakeDevice { refused_at: Some(0), ..FakeDevice::default() };
    let problem = CudaEncoder::start(|| started(refuses)).unwrap_err();
    assert_eq!(problem.message, "a fake cannot be used: invalid argument");
    let full = FakeDevice { is_bare: true, stubborn: usize::MAX, ..FakeDevice::default() };
    assert_eq!(CudaEncoder::start(|| started(full)).unwrap_err().code, Code::DEVICE_MEMORY);
    let hot = FakeDevice { hopeless: [0].into(), ..FakeDevice::default() };
    let problem = CudaEncoder::start(|| started(hot)).unwrap_err();
    assert_eq!(problem.message, "a fake cannot be used: its first answer is not finite");
    let panics = || -> Result<Started<FakeDevice>, Problem> { panic!("in a library") };
    assert_eq!(CudaEncoder::start(panics).unwrap_err().code, Code::DEVICE_UNAVAILABLE);
}

#[test]
fn a_lost_device_answers_every_caller_that_it_is_lost() {
    let device = FakeDevice { lost_at: Some(1), ..FakeDevice::default() };
    let encoder = CudaEncoder::start(move || started(device)).unwrap();
    for _ in 0..3 {
        assert_eq!(encoder.run(&[pair(1, 5)]), [Output::Lost]);
    }
}
