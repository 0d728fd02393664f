// Bindings of documents.

#include "documents.h"

#include <nanobind/stl/vector.h>

namespace engine {

void bind_documents(nb::module_ module) {
    nb::class_<Documents>(module, "Documents")
        .def(nb::init<nb::list>())
        .def("width", &Documents::width)
        .def("special", &Documents::special)
        .def("replace", &Documents::replace);
}

}  // namespace engine
