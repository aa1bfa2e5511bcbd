import sharp from 'sharp';
import { perform, type Work } from './work.ts';

sharp.concurrency(1);
sharp.cache(false);

export default (task: { work: Work; file: string; folder: string }): Promise<unknown> =>
  perform(task.work, task.file, task.folder);
