// What all compiled files share.

#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

// Each part has a namespace of its own: nanobind tells types apart by their names.
namespace engine {
void bind(nb::module_& module);
}
namespace text_reader {
void bind(nb::module_& module);
}
namespace solver {
void bind(nb::module_& module);
}
namespace convolution {
void bind(nb::module_& module);
}
