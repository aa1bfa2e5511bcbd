import type { ImageWork } from '../work.ts';

/** What was asked for. What means "as you like" is not said: not every model knows the word. */
export function wishesOf({ n, size, quality, user }: ImageWork) {
  return {
    ...(n > 1 && { n }),
    ...(size !== null && size !== 'auto' && { size }),
    ...(quality !== null && quality !== 'auto' && { quality }),
    ...(user !== null && { user }),
  };
}
