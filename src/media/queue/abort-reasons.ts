import { Failure } from '../../failure.ts';

/** Reason for aborting a task whose deadline is over. */
export class TaskExpired extends Failure {
  constructor() {
    super('timeout', 'the task did not end before its deadline', { code: 'task_expired' });
  }
}

/** Reason for aborting a task because the daemon shuts down; the next process resumes it. */
export class TaskInterrupted extends Failure {
  constructor() {
    super('service_error', 'the server is shutting down', { code: 'shutting_down' });
  }
}
