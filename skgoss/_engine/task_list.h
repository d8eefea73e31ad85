/* Tasks that threads share out while the list of them grows: some begin when others have ended. */
#ifndef SKGOSS_TASK_LIST_H
#define SKGOSS_TASK_LIST_H

#include <stddef.h>
#include <stdint.h>

typedef struct TaskList {
    /* Run a task, and add those that it was the last to hold up. Returns the number of the group
       that it belongs to: what it adds could not begin before all of that had ended; -1: none. */
    int (*run)(struct TaskList *list, ptrdiff_t number, int is_late, int thread);
    /* The function that a task runs, which names it in measurements. */
    void *(*name)(const struct TaskList *list, ptrdiff_t number, int is_late);
    int64_t n_ready, n_begun;
    int64_t n_late, n_late_begun;    /* of tasks that begin only where no other is ready */
    int64_t n_open;                  /* tasks that have not ended */
} TaskList;

#endif
