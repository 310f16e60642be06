// The tables of definitions, by file; definition.cpp reads them all.
#pragma once

#include <span>

#include "jit/definitions/definition.h"

namespace hearth {

std::span<const OperatorDefinition> ContainerDefinitions();
std::span<const OperatorDefinition> CreationDefinitions();
std::span<const OperatorDefinition> FusedDefinitions();
std::span<const OperatorDefinition> ImageDefinitions();
std::span<const OperatorDefinition> IndexingDefinitions();
std::span<const OperatorDefinition> LayerDefinitions();
std::span<const OperatorDefinition> NumberDefinitions();
std::span<const OperatorDefinition> PointwiseDefinitions();
std::span<const OperatorDefinition> ProcessDefinitions();
std::span<const OperatorDefinition> QueryDefinitions();
std::span<const OperatorDefinition> ReductionDefinitions();
std::span<const OperatorDefinition> SpecialDefinitions();
std::span<const OperatorDefinition> ViewDefinitions();

}  // namespace hearth
