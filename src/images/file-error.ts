import { Failure } from '../failure.ts';

/** Why one file of a batch could not be done. The batch goes on. */
export type FileErrorCode =
  | 'unsupported_format'
  | 'corrupt_image'
  | 'empty_file'
  | 'file_too_large'
  | 'image_too_large'
  | 'too_many_frames'
  | 'crop_out_of_bounds'
  | 'output_too_large'
  | 'animation_unsupported'
  | 'timeout'
  | 'work_exceeds_deadline'
  | 'work_exceeds_memory'
  | 'worker_crashed'
  | 'not_found'
  | 'is_directory'
  | 'read_failed'
  | 'processing_failed';

export function fileFailure(code: FileErrorCode, message: string, cause?: unknown): Failure {
  return new Failure('invalid_request', message, { code, cause });
}
