import type { ImageTaskRequest } from '../task/task-request.ts';

/** Parameters of an image request, without defaults: not every model accepts the value `auto`. */
export function imageParameters({ n, size, quality, user, options }: ImageTaskRequest) {
  return {
    ...(n > 1 && { n }),
    ...(size !== null && size !== 'auto' && { size }),
    ...(quality !== null && quality !== 'auto' && { quality }),
    ...(user !== null && { user }),
    ...options,
  };
}
