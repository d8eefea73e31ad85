/* A list of tasks that threads run while it grows: some tasks can only begin when others have
   ended, which then add them. */
#ifndef SKGOSS_TASK_LIST_H
#define SKGOSS_TASK_LIST_H

#include <stddef.h>
#include <stdint.h>

typedef struct TaskList {
    /* Runs a task. The last task of a group also adds those that depend on the group. Returns the
       number of the group, or -1. */
    int (*run)(struct TaskList *list, ptrdiff_t number, int is_deferred, int thread);
    /* The function of a task, which names it in measurements. */
    void *(*name)(const struct TaskList *list, ptrdiff_t number, int is_deferred);
    int64_t n_ready, n_begun;
    int64_t n_deferred, n_deferred_begun; /* of tasks that begin only if no other is ready */
    int64_t n_open;                       /* tasks that have not ended */
} TaskList;

#endif
