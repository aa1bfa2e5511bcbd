import { Failure } from '../../failure.ts';

/** Reason for aborting a task whose deadline is over. */
export class TaskExpired extends Failure {
  constructor() {
    super('timeout', 'the task did not end before its deadline', { code: 'task_expired' });
  }
}

/** Reason for aborting a task that another node has taken over, or may take over: this one must not end it. */
export class ClaimLost extends Failure {
  constructor() {
    super('service_error', 'the lease of this server has ended', { code: 'claim_lost' });
  }
}

/** Whether another node has taken a task over, and may have ended it. */
export function isClaimLost(error: unknown): boolean {
  return error instanceof Failure && (error.code === 'claim_lost' || error.code === 'task_state');
}

/** Reason for aborting a task that another process resumes: the daemon shuts down, or lacks the task's model. */
export class TaskInterrupted extends Failure {
  constructor() {
    super('service_error', 'the server is shutting down', { code: 'shutting_down' });
  }
}
