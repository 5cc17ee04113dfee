/* search.h: the choices a job leaves open (GPUs, pipeline stages, tensor parallelism, ZeRO, recompute), tried one by
 * one. The solver (solve.h) says which count of GPUs to try and what is wanted. */
#ifndef GP_SEARCH_H
#define GP_SEARCH_H

#include "plan/plan.h"

/* Fields of the search, outermost first. */
enum { GP_CHOICE_COUNT, GP_CHOICE_STAGES, GP_CHOICE_TENSOR, GP_CHOICE_ZERO, GP_CHOICE_RECOMPUTE, GP_CHOICES };

typedef struct {
    int64_t values[GP_CHOICES];
} gp_choice;

/* CHEAPEST: the first that fits, else the first tight one, else the one with the smallest peak. FRUGAL: the smallest
 * peak of all, which is the choice that leaves most room for something else to grow. */
typedef enum { GP_SEARCH_CHEAPEST, GP_SEARCH_FRUGAL } gp_search_aim;

typedef struct {
    gp_plan *plan;
    gp_search_aim aim;
    bool open[GP_CHOICES];
    bool batch_open;    /* the micro-batch is the solver's too: 1 while choices are made … */
    bool batch_follows; /* … or what global_batch and grad_accum leave to each replica */
    bool found, finished;
    gp_choice plainest, best;
    gp_verdict best_verdict;
    gp_peak best_peak;
    uint64_t least_peak;  /* smallest peak of all that was tried */
    bool passes_over;     /* what its states alone show not to fit is not tried */
    uint64_t passed_over; /* at most the smallest peak of all that was passed over; UINT64_MAX: nothing was */
} gp_search;

/* The field of a choice, which depends on the task. */
gp_field gp_search_field(const gp_job *job, int choice);
/* True when the job leaves the solver anything to choose. */
bool gp_search_is_open(const gp_job *job);

void gp_search_start(gp_search *search, gp_plan *plan, gp_search_aim aim);
/* Tries all choices with that many GPUs; `finished` says that there is no need to try more. */
void gp_search_count(gp_search *search, int64_t count);
/* Makes the best choice found, or the plainest, the plan's. */
void gp_search_apply(const gp_search *search);
/* Degrees that are tried: `value` doubled up to `most` where the choice is open, else the job's alone. */
int64_t gp_search_most(const gp_search *search, int choice, int64_t most);
int64_t gp_search_first(const gp_search *search, int choice);

/* No number below 2^31 has more divisors than 1,536. */
#define GP_DIVISORS_MAX 1536
typedef struct {
    int count;
    uint64_t values[GP_DIVISORS_MAX];
} gp_divisors;
/* Divisors of a number below 2^31, from 1 upward. */
void gp_divisors_of(uint64_t number, gp_divisors *list);

#endif
