#pragma once

#include <string>
#include <utility>

#include "study/study.h"

/// What the studies' lists of cases are made with.
namespace hone::study {

/// Adds options to a command, by the names of their fields.
void add_option(Words& words, const std::string& field, const std::string& value);
void add_switch(Words& words, const std::string& field);

/// Gives a training by the settings, into kTrained; `model` is a folder, empty for a new model.
/// `lines` is how often the loss is logged; 0: as a run does by itself.
Words training(const StudySettings& settings, const std::string& model, int64_t steps,
               int64_t lines = 0);
/// Gives a scoring of a model's folder by the settings.
Words scoring(const StudySettings& settings, const std::string& model);
/// Gives a profile of a command, into kProfiled.
Words profiled(const Words& command);

/// Gives the folders to study; one empty name, a new model, where the user names none.
Words models_of(const StudySettings& settings);
/// Gives a folder's own name; "new" for a new model.
std::string model_name(const std::string& folder);
/// Gives the user's points, or these.
std::vector<int64_t> points_of(const StudySettings& settings, std::vector<int64_t> usual);

/// Says why a number of ranks has no place here; empty: it has one, or the user asked for it.
std::string too_many_ranks(const StudySettings& settings, int64_t ranks);
/// Says why a GPU of this number is not there; empty: it is.
std::string no_gpu(int64_t index);

std::vector<Case> stages_cases(const StudySettings& settings);
std::vector<Case> loader_cases(const StudySettings& settings);
std::vector<Case> precision_cases(const StudySettings& settings);
std::vector<Case> lora_cases(const StudySettings& settings);
std::vector<Case> checkpointing_cases(const StudySettings& settings);
std::vector<Case> small_cases(const StudySettings& settings);
std::vector<Case> devices_cases(const StudySettings& settings);
std::vector<Case> explain_cases(const StudySettings& settings);
std::vector<Case> scale_cases(const StudySettings& settings);
std::vector<Case> convergence_cases(const StudySettings& settings);
std::vector<Case> prepare_cases(const StudySettings& settings);
std::vector<Case> balance_cases(const StudySettings& settings);

}  // namespace hone::study
