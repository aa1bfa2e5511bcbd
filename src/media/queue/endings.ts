import { Failure } from '../../failure.ts';

/** A task under way is let go of because its deadline is over. */
export class Expired extends Failure {
  constructor() {
    super('timeout', 'the task did not end before its deadline', { code: 'task_expired' });
  }
}

/** A task under way is let go of because the daemon ends: the next one goes on with it. */
export class Interrupted extends Failure {
  constructor() {
    super('service_error', 'the server is being shut down', { code: 'shutting_down' });
  }
}
