//! What a driver's error means for the batches after it.

use super::super::runner::Fault;
use cudarc::driver::result::DriverError;

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: i32 = 2;
/// Errors about one call, which leave the context as it was: invalid values and handles, what was not found or is not
/// supported, a launch that asks for too much, and captures. Everything else is taken for the end of the context: after an illegal
/// address or an uncorrectable error of memory, every further call fails with the same.
const OF_THE_CALL: [i32; 24] = [
    1, 100, 101, 200, 209, 218, 221, 222, 223, 301, 400, 500, 600, 701, 801, 900, 901, 902, 903, 904, 905,
    906, 907, 908,
];

/// What happens next after status `code` of the driver.
pub(super) fn fault_for(code: i32, why: String) -> Fault {
    match code {
        OUT_OF_MEMORY => Fault::OutOfMemory,
        code if OF_THE_CALL.contains(&code) => Fault::Refused(why),
        _ => Fault::Lost(why),
    }
}

pub(super) fn fault_of(error: DriverError) -> Fault {
    fault_for(error.0 as i32, explained(error))
}

/// The error's name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`, and its number.
pub(super) fn explained(error: DriverError) -> String {
    format!("{:?} ({})", error.0, error.0 as i32)
}

/// Statuses of the library of products: of memory, and of the call.
const PRODUCT_MEMORY: i32 = 3;
const PRODUCT_CALLS: [i32; 3] = [7, 8, 15];

/// What happens next after status `code` of the library of products.
pub(super) fn fault_for_product(code: i32, why: String) -> Fault {
    match code {
        PRODUCT_MEMORY => Fault::OutOfMemory,
        code if PRODUCT_CALLS.contains(&code) => Fault::Refused(why),
        _ => Fault::Lost(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_context_does_not_survive_loses_the_device_and_the_rest_does_not() {
        let fault = |code| fault_for(code, "why".to_owned());
        assert_eq!(fault(2), Fault::OutOfMemory);
        // Illegal address, timeout, assertion, hardware stack, misaligned address, launch failure, ECC, unknown, one of the future.
        for sticky in [700, 702, 710, 714, 716, 719, 214, 220, 999, 12_345] {
            assert!(matches!(fault(sticky), Fault::Lost(_)), "{sticky}");
        }
        for call in [1, 400, 500, 701, 801, 900] {
            assert!(matches!(fault(call), Fault::Refused(_)), "{call}");
        }
    }

    #[test]
    fn a_product_that_failed_while_it_ran_loses_the_device() {
        let fault = |code| fault_for_product(code, "why".to_owned());
        assert_eq!(fault(3), Fault::OutOfMemory);
        assert!(matches!(fault(15), Fault::Refused(_)));
        assert!(matches!(fault(13), Fault::Lost(_)) && matches!(fault(14), Fault::Lost(_)));
    }
}
