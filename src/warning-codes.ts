/** Codes of warnings, which a file of a batch may have although it succeeded. */
export const WARNING_CODES = {
  quality_ignored: 'The output format has no quality setting.',
  lossless_ignored: 'The output format has no lossless setting.',
  effort_ignored: 'The output format has no effort setting.',
  effort_adjusted: 'The effort is beyond the range of the output format; the nearest was used.',
  progressive_ignored: 'The output format has no progressive setting.',
  chroma_subsampling_ignored: 'The output format has no chroma subsampling setting.',
  metadata_ignored: 'The output format has no metadata.',
  exif_lost: 'The Exif data is too large for the output format.',
  iptc_shortened: 'A text is longer than IPTC allows, and was cut there.',
  iptc_lost: 'The output format has no place for IPTC.',
  colours_not_converted: 'Colours of a high dynamic range or of a grey profile were not converted.',
  gamut_lost: 'The colour profile of the output cannot hold some colours, which changed.',
  profile_ignored: 'The output has several frames or its format has no colour profile.',
  delay_adjusted: 'The delay of a frame was shortened to the longest that can be written.',
  animation_lost: 'The output has the first frame of an animation.',
  pages_lost: 'The output has the first of several pages.',
  trailer_unchanged: 'Pictures after the first picture have metadata that was not changed.',
  xmp_lost: 'XMP was removed, because the position could not be removed from it alone.',
  xmp_unchanged: 'XMP has a property that means the same as a changed tag.',
  trailer_lost: 'Pictures or data after the first picture, such as a gain map, were dropped.',
  icon_enlarged: 'The image is smaller than the largest icon.',
  icon_padded: 'The image is not square and got transparent edges.',
  scripts_removed: 'Scripts of an SVG image were removed.',
  no_output: 'The conditions of all outputs of the recipe exclude the image.',
  characters_missing: 'No installed font has some of the characters of a text.',
  text_small: 'A text is so small that it can hardly be read.',
  overlay_frames_lost: 'The first frame of an animated overlay was laid over the image.',
  overlay_colours_not_converted:
    'The output keeps a colour profile to which the colours of an overlay were not converted.',
  near_lossless_ignored: 'The output format has no near-lossless setting.',
  colors_ignored: 'The output format has no palette.',
  dither_ignored: 'The output keeps all colours, or its format has no palette.',
  target_not_reached:
    'No encoding has the target size or SSIM; the output is the smallest or the most similar one.',
  metadata_kept: 'The output keeps the bytes of the input, with their metadata.',
  focus_not_found:
    'The picture does not have the focus that was asked for; attention chose the part.',
  frames_not_compared: 'Only the first frames or pages were compared.',
} as const;

export type WarningCode = keyof typeof WARNING_CODES;
