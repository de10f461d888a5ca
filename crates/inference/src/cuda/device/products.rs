//! Products of matrices through cublasLt. Which algorithm is best for a shape is asked once and kept: the library's search takes
//! longer than a small product.

use super::super::arguments::Ptr;
use super::super::runner::Fault;
use super::super::steps::Product;
use super::memory::DeviceMemory;
use super::status::fault_for_product;
use cudarc::cublaslt::{result, sys};
use cudarc::driver::sys::CUstream;
use std::collections::BTreeMap;
use std::ffi::c_void;

/// Memory of the library's own, as it recommends for its fastest algorithms on Hopper.
const WORKSPACE_BYTES: usize = 32 << 20;

/// `CUBLAS_OP_T`, which these bindings do not have.
const TRANSPOSED: i32 = 1;

/// What an algorithm is chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    rows: usize,
    inputs: usize,
    outputs: usize,
    wide: bool,
    has_bias: bool,
    /// Through the library's own GELU: only to see which it is.
    gelu: bool,
}

/// An operation, described to the library.
struct Operation(sys::cublasLtMatmulDesc_t);

/// A matrix, described to the library.
struct Layout(sys::cublasLtMatrixLayout_t);

impl Operation {
    fn new() -> Result<Self, Fault> {
        let compute = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
        result::create_matmul_desc(compute, sys::cudaDataType_t::CUDA_R_32F).map(Self).map_err(fault)
    }

    /// Sets an attribute.
    ///
    /// # Safety
    /// `value` is of the type that the attribute has.
    unsafe fn set<T>(&self, attribute: sys::cublasLtMatmulDescAttributes_t, value: &T) -> Result<(), Fault> {
        let pointer = std::ptr::from_ref(value).cast::<c_void>();
        // SAFETY: the operation is alive, and the value as long as its type.
        unsafe { result::set_matmul_desc_attribute(self.0, attribute, pointer, size_of::<T>()) }
            .map_err(fault)
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and used by this alone.
        let _ = unsafe { result::destroy_matmul_desc(self.0) };
    }
}

impl Layout {
    /// By columns, without gaps.
    fn new(number: sys::cudaDataType_t, rows: usize, columns: usize) -> Result<Self, Fault> {
        result::create_matrix_layout(number, rows as u64, columns as u64, rows as i64)
            .map(Self)
            .map_err(fault)
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and used by this alone.
        let _ = unsafe { result::destroy_matrix_layout(self.0) };
    }
}

/// The library's own state.
struct Handle(sys::cublasLtHandle_t);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by the library, and used by its owner alone, which drops what was described with it first.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

/// What algorithms may use.
struct Preference(sys::cublasLtMatmulPreference_t);

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: made by the library, and used by its owner alone.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

/// A kind of product, described to the library.
struct Described {
    operation: Operation,
    /// `[outputs][inputs]`, which the library reads as `inputs` x `outputs`, and turns.
    weight: Layout,
    x: Layout,
    out: Layout,
    algorithm: sys::cublasLtMatmulAlgo_t,
}

/// The library, and what it has said. Fields are dropped from the first to the last: the handle after what was made with it.
pub(super) struct Products {
    described: BTreeMap<Kind, Described>,
    workspace: DeviceMemory,
    preference: Preference,
    handle: Handle,
    stream: CUstream,
}

fn fault(error: result::CublasError) -> Fault {
    fault_for_product(error.0 as i32, format!("{:?}", error.0))
}

impl Products {
    pub(super) fn new(stream: CUstream) -> Result<Self, Fault> {
        let workspace = DeviceMemory::new(WORKSPACE_BYTES)?;
        let handle = result::create_handle().map(Handle).map_err(fault)?;
        let preference = result::create_matmul_pref().map(Preference).map_err(fault)?;
        let attribute = sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
        let bytes = std::ptr::from_ref(&WORKSPACE_BYTES).cast();
        // SAFETY: the attribute is a `size_t`.
        unsafe { result::set_matmul_pref_attribute(preference.0, attribute, bytes, size_of::<usize>()) }
            .map_err(fault)?;
        Ok(Self { described: BTreeMap::new(), workspace, preference, handle, stream })
    }

    pub(super) fn run(&mut self, product: &Product, address: &dyn Fn(Ptr) -> u64) -> Result<(), Fault> {
        self.run_kind(product, address, false)
    }

    /// The same through the library's own GELU.
    #[cfg(feature = "kernels-host")]
    pub(super) fn run_with_gelu(
        &mut self,
        product: &Product,
        address: &dyn Fn(Ptr) -> u64,
    ) -> Result<(), Fault> {
        self.run_kind(product, address, true)
    }

    fn run_kind(&mut self, product: &Product, address: &dyn Fn(Ptr) -> u64, gelu: bool) -> Result<(), Fault> {
        let has_bias = product.bias != Ptr::Null;
        let Product { rows, inputs, outputs, wide, .. } = *product;
        let kind = Kind { rows, inputs, outputs, wide, has_bias, gelu };
        if !self.described.contains_key(&kind) {
            let described = self.describe(kind, address(product.bias))?;
            self.described.insert(kind, described);
        }
        let described = &self.described[&kind];
        if has_bias {
            let attribute = sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER;
            // SAFETY: the attribute is a pointer, which is as long as this.
            unsafe { described.operation.set(attribute, &address(product.bias)) }?;
        }
        let (one, zero) = (1.0_f32, 0.0_f32);
        let out = address(product.out) as *mut c_void;
        // SAFETY: the addresses lead into memory that the plan has made large enough for these shapes.
        unsafe {
            result::matmul(
                self.handle.0,
                described.operation.0,
                std::ptr::from_ref(&one).cast(),
                std::ptr::from_ref(&zero).cast(),
                address(product.weight) as *const c_void,
                described.weight.0,
                address(product.x) as *const c_void,
                described.x.0,
                out,
                described.out.0,
                out,
                described.out.0,
                &described.algorithm,
                self.workspace.address() as *mut c_void,
                WORKSPACE_BYTES,
                self.stream.cast(),
            )
        }
        .map_err(fault)
    }

    /// Describes a kind of product, and asks for the best algorithm. Sums are in f32, and a bias is added to them before they are
    /// rounded: exact. GELU is left to a kernel: the library's is the tanh form.
    fn describe(&self, kind: Kind, bias: u64) -> Result<Described, Fault> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        use sys::cudaDataType_t as Type;
        let number = if kind.wide { Type::CUDA_R_32F } else { Type::CUDA_R_16F };
        let operation = Operation::new()?;
        // SAFETY: each value has its attribute's type: operation, epilogue, pointer, type.
        unsafe {
            operation.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, &TRANSPOSED)?;
            if kind.gelu {
                let epilogue = sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_GELU as i32;
                operation.set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue)?;
            } else if kind.has_bias {
                let epilogue = sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS as i32;
                operation.set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue)?;
                operation.set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias)?;
                operation.set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &(number as i32))?;
            }
        }
        let weight = Layout::new(Type::CUDA_R_16F, kind.inputs, kind.outputs)?;
        let x = Layout::new(Type::CUDA_R_16F, kind.inputs, kind.rows)?;
        let out = Layout::new(number, kind.outputs, kind.rows)?;
        // SAFETY: everything was just made.
        let found = unsafe {
            let (c, preference) = (out.0, self.preference.0);
            result::get_matmul_algo_heuristic(self.handle.0, operation.0, weight.0, x.0, c, out.0, preference)
        };
        let algorithm = found.map_err(fault)?.algo;
        Ok(Described { operation, weight, x, out, algorithm })
    }
}
