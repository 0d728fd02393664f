"""Predictions and features as columns of Dask dataframes. Needs the extra `dask`."""

from wordclass.batch.dask_frames import predict, transform

__all__ = ["predict", "transform"]
