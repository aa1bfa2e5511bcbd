/**
 * Names of tags in TIFF 6.0, Exif 2.32 and 3.0 (CIPA DC-008) and DCF 2.0 (CIPA DC-009), with those of
 * Windows and Adobe that cameras and editors commonly add.
 */

/** Names by number. Each number is followed by its name and the names of the numbers after it. */
function tagNames(text: string): Readonly<Record<number, string>> {
  let tag = 0;
  const names: Record<number, string> = {};
  for (const word of text.trim().split(/\s+/)) {
    if (/^\d+$/.test(word)) tag = Number(word);
    else names[tag++] = word;
  }
  return names;
}

/** IFD0 and the Exif directory share one number space, and writers put the tags of each into both. */
export const IMAGE_AND_PHOTO_TAGS = tagNames(`
  11 ProcessingSoftware 254 NewSubfileType SubfileType ImageWidth ImageLength BitsPerSample Compression 262
  PhotometricInterpretation 266 FillOrder 269 DocumentName ImageDescription Make Model StripOffsets Orientation 277
  SamplesPerPixel RowsPerStrip StripByteCounts 282 XResolution YResolution PlanarConfiguration PageName 296
  ResolutionUnit PageNumber 301 TransferFunction 305 Software DateTime 315 Artist HostComputer Predictor WhitePoint
  PrimaryChromaticities ColorMap 322 TileWidth TileLength TileOffsets TileByteCounts 338 ExtraSamples SampleFormat
  513 JPEGInterchangeFormat JPEGInterchangeFormatLength 529 YCbCrCoefficients YCbCrSubSampling YCbCrPositioning
  ReferenceBlackWhite 700 XMLPacket 18246 Rating 18249 RatingPercent 33432 Copyright 33434 ExposureTime 33437
  FNumber 33723 IPTCNAA 34377 ImageResources 34675 InterColorProfile 34850 ExposureProgram 34852 SpectralSensitivity
  34855 PhotographicSensitivity OECF 34864 SensitivityType StandardOutputSensitivity RecommendedExposureIndex
  ISOSpeed ISOSpeedLatitudeyyy ISOSpeedLatitudezzz 36864 ExifVersion 36867 DateTimeOriginal DateTimeDigitized 36880
  OffsetTime OffsetTimeOriginal OffsetTimeDigitized 37121 ComponentsConfiguration CompressedBitsPerPixel 37377
  ShutterSpeedValue ApertureValue BrightnessValue ExposureBiasValue MaxApertureValue SubjectDistance MeteringMode
  LightSource Flash FocalLength 37396 SubjectArea 37500 MakerNote 37510 UserComment 37520 SubSecTime
  SubSecTimeOriginal SubSecTimeDigitized 37888 Temperature Humidity Pressure WaterDepth Acceleration
  CameraElevationAngle 40091 XPTitle XPComment XPAuthor XPKeywords XPSubject 40960 FlashpixVersion ColorSpace
  PixelXDimension PixelYDimension RelatedSoundFile 41483 FlashEnergy SpatialFrequencyResponse 41486
  FocalPlaneXResolution FocalPlaneYResolution FocalPlaneResolutionUnit 41492 SubjectLocation ExposureIndex 41495
  SensingMethod 41728 FileSource SceneType CFAPattern 41985 CustomRendered ExposureMode WhiteBalance
  DigitalZoomRatio FocalLengthIn35mmFilm SceneCaptureType GainControl Contrast Saturation Sharpness
  DeviceSettingDescription SubjectDistanceRange 42016 ImageUniqueID 42032 CameraOwnerName BodySerialNumber
  LensSpecification LensMake LensModel LensSerialNumber ImageTitle Photographer ImageEditor CameraFirmware
  RAWDevelopingSoftware ImageEditingSoftware MetadataEditingSoftware 42080 CompositeImage
  SourceImageNumberOfCompositeImage SourceExposureTimesOfCompositeImage 42240 Gamma 50341 PrintImageMatching
`);

/** Text tags that describe the picture: those of baseline TIFF, and Copyright. */
const TEXTS = new Set([269, 270, 271, 272, 285, 305, 306, 315, 316, 33432]);

/** Whether TIFF 6.0 defines a tag as text. */
export const isText = (tag: number): boolean => TEXTS.has(tag);

/**
 * Whether a tag of IFD0 describes how the pixels of a TIFF file are stored, or holds another kind of
 * metadata, instead of describing the picture. Orientation and resolution count as storage.
 */
export function isFileTag(tag: number): boolean {
  if (TEXTS.has(tag)) return false;
  return (tag >= 254 && tag <= 532) || [700, 33723, 34377, 34675].includes(tag);
}

export const GPS_TAGS = tagNames(`
  0 GPSVersionID GPSLatitudeRef GPSLatitude GPSLongitudeRef GPSLongitude GPSAltitudeRef GPSAltitude GPSTimeStamp
  GPSSatellites GPSStatus GPSMeasureMode GPSDOP GPSSpeedRef GPSSpeed GPSTrackRef GPSTrack GPSImgDirectionRef
  GPSImgDirection GPSMapDatum GPSDestLatitudeRef GPSDestLatitude GPSDestLongitudeRef GPSDestLongitude
  GPSDestBearingRef GPSDestBearing GPSDestDistanceRef GPSDestDistance GPSProcessingMethod GPSAreaInformation
  GPSDateStamp GPSDifferential GPSHPositioningError
`);

export const INTEROP_TAGS = tagNames(`
  1 InteroperabilityIndex InteroperabilityVersion 4096 RelatedImageFileFormat RelatedImageWidth RelatedImageLength
`);

/** Tags of IFD0 or the Exif directory whose value is the offset of another directory. */
export const DIRECTORY_TAGS = { photo: 34665, gps: 34853, interop: 40965 } as const;

export const ORIENTATION = 274;

/** Tags that the metadata policy `copyright` keeps. */
export const COPYRIGHT_TAGS: Readonly<Record<string, number>> = { Artist: 315, Copyright: 33_432 };
